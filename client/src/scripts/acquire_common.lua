-- What every acquire begins with, put behind clock.lua and before the script itself by the build.
--
-- KEYS  1 lock   a string `token:owner`
-- ARGV  1 owner      opaque bytes, one value for each acquire and all its retries
--       2 ttl        ms
--       3 not_after  ms of this server's clock: the sender has given up by then
--       4 above      the token granted is to be higher than this
--
-- Tokens are text all the way: a Lua number is exact only to 2^53.

local lock = KEYS[1]
local owner, ttl, above = ARGV[1], ARGV[2], ARGV[4]

if is_late(ARGV[3]) then return {'LATE', now} end

local again = false -- the token of a lock that is the sender's already: its first reply was lost
local held = redis.call('GET', lock)
if held then
  local colon = string.find(held, ':', 1, true)
  local token = colon and string.sub(held, 1, colon - 1)
  if not colon or string.sub(held, colon + 1) ~= owner then
    return {'BUSY', redis.call('PTTL', lock), now}
  end
  if less(above, token) then
    again = token
    redis.call('PEXPIRE', lock, ttl)
  end
end
