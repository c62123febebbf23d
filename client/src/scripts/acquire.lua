-- Grants the lock, or says why not. One atomic step, behind acquire_common.lua.
--
-- KEYS  2 state
-- ARGV  5 history    the history id of the database that the sender seeds from
--       6 idle       ms after which an unused state may go
--       7 ticket     the ticket that the block in 8 and 9 was reserved for; without a block there are none of the three
--       8 before     the number before the block's first token
--       9 last       the block's last token
--
-- Replies, with this server's time in ms as the last element:
--   GRANTED token end_of_block | BUSY remaining_ms | LATE | SEED ticket end_of_known_block
--
-- The state is one hash, so that it is lost as a whole or not at all:
--   lineage  master_replid of the server that counted last
--   history  the database that gave the block
--   last     the last token handed out
--   end      the last token of the block
--   ticket   drawn for the next block, and not used yet

local state = KEYS[2]
local history, idle, ticket, before, last = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]

if again then return {'GRANTED', again, redis.call('HGET', state, 'end') or again, now} end

local lineage = lineage_of_server()

local fields = redis.call('HMGET', state, 'lineage', 'history', 'last', 'end', 'ticket')
local known_lineage, known_history, known_last, known_end = fields[1], fields[2], fields[3], fields[4]
-- A ticket of another lineage is void: its block may have been used before the state was restored.
local pending = fields[5]
if pending and string.sub(pending, 1, #lineage + 1) ~= lineage .. ':' then pending = false end

if ticket and ticket == pending then
  pending = false -- used up, whether its block will do or not
  redis.call('HDEL', state, 'ticket')
  if not known_end or not less(before, known_end) then
    redis.call('HSET', state, 'lineage', lineage, 'history', history, 'last', before, 'end', last)
    known_lineage, known_history, known_last, known_end = lineage, history, before, last
  end
end

if known_lineage ~= lineage or known_history ~= history or not known_last or not known_end
    or not less(known_last, known_end) or less(known_last, above) then
  if not pending then
    pending = lineage .. ':' .. time[1] .. '.' .. time[2] .. ':' .. redis.sha1hex(owner)
    redis.call('HSET', state, 'ticket', pending)
  end
  redis.call('PEXPIRE', state, idle)
  return {'SEED', pending, known_end or '0', now}
end

redis.call('HINCRBY', state, 'last', 1)
local token = redis.call('HGET', state, 'last')
redis.call('SET', lock, token .. ':' .. owner, 'PX', ttl)
redis.call('PEXPIRE', state, idle)
return {'GRANTED', token, known_end, now}
