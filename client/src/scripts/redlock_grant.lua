-- Gives the lock that an attempt has here its token, and its TTL. Never creates one.
--
-- ARGV  found, granted: the values of the lock before and after
--       ttl in ms, lineage of the server when it was found
--       not_after  ms of this server's clock
-- Replies GRANTED | GONE | LATE, with this server's time in ms as the last element.

if is_late(ARGV[5]) then return {'LATE', now} end
if held ~= ARGV[1] or lineage ~= ARGV[4] then return {'GONE', now} end
redis.call('SET', lock, ARGV[2], 'PX', ARGV[3])
return {'GRANTED', now}
