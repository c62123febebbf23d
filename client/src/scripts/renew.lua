-- Extends a lease that this owner still has with this token. Never creates one.
--
-- KEYS  lock
-- ARGV  owner, token, ttl in ms, not_after in ms of this server's clock
-- Replies RENEWED | LOST | LATE, with this server's time in ms as the last element.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- A renewal that arrives after its sender counted the lease as lost would only keep others waiting.
if now >= tonumber(ARGV[4]) then return {'LATE', now} end

if redis.call('GET', KEYS[1]) ~= ARGV[2] .. ':' .. ARGV[1] then return {'LOST', now} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'RENEWED', now}
