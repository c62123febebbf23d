-- Grants a lock that is shared with clients which run SET NX PX and INCR in one script. One atomic
-- step, behind acquire_common.lua.
--
-- KEYS  2 fence  the counter of the resource, a string
--
-- Replies, with this server's time in ms as the last element:
--   GRANTED token token | BUSY remaining_ms | LATE

local fence = KEYS[2]

if again then return {'GRANTED', again, again, now} end

local counted = redis.call('GET', fence) or '0'
if not string.find(counted, '^%d+$') then
  return redis.error_reply('ERR ' .. fence .. ' holds no fencing token')
end
-- A database has refused what was counted: the counter was lost, or another one is ahead.
if less(counted, above) then redis.call('SET', fence, above) end

redis.call('INCR', fence) -- first: at 2^63-1 it fails, and then the lock must not be taken
local token = redis.call('GET', fence)
redis.call('SET', lock, token .. ':' .. owner, 'PX', ttl)
return {'GRANTED', token, token, now}
