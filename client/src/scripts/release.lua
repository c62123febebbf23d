-- Ends the lease, where it is this owner's, and wakes one waiter.
--
-- KEYS  lock, wake (or without wake: then nobody is woken)
-- ARGV  owner, token; token '' is whatever token this owner was granted (its reply was lost)
-- Replies RELEASED | NOT_HELD.

-- A replica does not know whether the lock is held still.
if not string.find(redis.call('INFO', 'replication'), 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is not a primary')
end

local held = redis.call('GET', KEYS[1])
local colon = held and string.find(held, ':', 1, true)
if not colon or string.sub(held, colon + 1) ~= ARGV[1]
    or (ARGV[2] ~= '' and string.sub(held, 1, colon - 1) ~= ARGV[2]) then
  return {'NOT_HELD'}
end
redis.call('DEL', KEYS[1])

-- The lock is gone by now. A wake is a hint: its failure (memory, rights) must not hide the release.
local waiting = KEYS[2] and redis.pcall('LLEN', KEYS[2])
if waiting == 0 then
  redis.pcall('LPUSH', KEYS[2], '1')
  redis.pcall('PEXPIRE', KEYS[2], 1000)
end
return {'RELEASED'}
