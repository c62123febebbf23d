-- Extends a lease that this owner still has here with this token. Never creates one.
--
-- ARGV  owner, token, ttl in ms, not_after in ms of this server's clock
-- Replies RENEWED | LOST | LATE, with this server's time in ms as the last element.

if is_late(ARGV[4]) then return {'LATE', now} end
if owner ~= ARGV[1] or token ~= ARGV[2] then return {'LOST', now} end
redis.call('PEXPIRE', lock, ARGV[3])
return {'RENEWED', now}
