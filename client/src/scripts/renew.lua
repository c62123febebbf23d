-- Extends a lease that this owner still has with this token. Never creates one.
--
-- KEYS  lock
-- ARGV  owner, token, ttl in ms, not_after in ms of this server's clock
-- Replies RENEWED | LOST | LATE, with this server's time in ms as the last element.

if is_late(ARGV[4]) then return {'LATE', now} end

if redis.call('GET', KEYS[1]) ~= ARGV[2] .. ':' .. ARGV[1] then return {'LOST', now} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'RENEWED', now}
