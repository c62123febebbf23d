-- Ends the lease, where it is this owner's, and wakes one waiter.
--
-- KEYS  lock, wake
-- ARGV  owner, token; token '' is whatever token this owner was granted (its reply was lost)
-- Replies RELEASED | NOT_HELD.

local held = redis.call('GET', KEYS[1])
local colon = held and string.find(held, ':', 1, true)
if not colon or string.sub(held, colon + 1) ~= ARGV[1]
    or (ARGV[2] ~= '' and string.sub(held, 1, colon - 1) ~= ARGV[2]) then
  return {'NOT_HELD'}
end
redis.call('DEL', KEYS[1])

-- The lock is gone by now. A wake is a hint: its failure (memory, rights) must not hide the release.
local waiting = redis.pcall('LLEN', KEYS[2])
if waiting == 0 then
  redis.pcall('LPUSH', KEYS[2], '1')
  redis.pcall('PEXPIRE', KEYS[2], 1000)
end
return {'RELEASED'}
