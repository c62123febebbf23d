-- Grants the lock, or says why not. One atomic step.
--
-- KEYS  lock, state
-- ARGV  1 owner      opaque bytes, one value for each acquire and all its retries
--       2 ttl        ms
--       3 not_after  ms of this server's clock: the sender has given up by then
--       4 above      the token granted is to be higher than this
--       5 history    the history id of the database that the sender seeds from
--       6 idle       ms after which an unused state may go
--       7 ticket     '' or the ticket that the block in 8 and 9 was reserved for
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
-- Tokens are text all the way: a Lua number is exact only to 2^53.

local lock, state = KEYS[1], KEYS[2]
local owner, ttl, not_after, above = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local history, idle, ticket, before, last = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]

-- Decimals without leading zeros; digits of one length sort as numbers do in every locale.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- What arrives after its sender gave up must not take the lock: nobody would release it.
if now >= not_after then return {'LATE', now} end

-- A replica does not know who holds the lock now; a writable one shares its primary's lineage and
-- state, so it would repeat its tokens.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is not a primary')
end
local lineage = string.match(replication, 'master_replid:(%x+)')

local held = redis.call('GET', lock)
if held then
  local colon = string.find(held, ':', 1, true)
  local token = colon and string.sub(held, 1, colon - 1)
  if not colon or string.sub(held, colon + 1) ~= owner then
    return {'BUSY', redis.call('PTTL', lock), now}
  end
  if less(above, token) then -- the sender asks again: the first reply was lost
    redis.call('PEXPIRE', lock, ttl)
    return {'GRANTED', token, redis.call('HGET', state, 'end') or token, now}
  end
end

local fields = redis.call('HMGET', state, 'lineage', 'history', 'last', 'end', 'ticket')
local known_lineage, known_history, known_last, known_end = fields[1], fields[2], fields[3], fields[4]
-- A ticket of another lineage is void: its block may have been used before the state was restored.
local pending = fields[5]
if pending and string.sub(pending, 1, #lineage + 1) ~= lineage .. ':' then pending = false end

if ticket ~= '' and ticket == pending then
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
