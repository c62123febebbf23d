-- This server's vote for an attempt.
--
-- ARGV  owner, attempt, ttl in ms, above
--       not_after  ms of this server's clock: the sender has given up by then
-- Replies, with this server's time in ms as the last element:
--   TAKEN value lineage 0 | HELD value lineage token | BUSY token | LATE
-- HELD: the lease is this owner's already, with a token above `above`; nothing was changed. BUSY has token 0 where the
-- other one has not been granted the lock yet.

if is_late(ARGV[5]) then return {'LATE', now} end
if held and owner ~= ARGV[1] then return {'BUSY', token or '', now} end
if held and token ~= '0' and less(ARGV[4], token) then return {'HELD', held, lineage, token, now} end

local value = '0:' .. ARGV[2] .. ':' .. ARGV[1]
redis.call('SET', lock, value, 'PX', ARGV[3])
return {'TAKEN', value, lineage, '0', now}
