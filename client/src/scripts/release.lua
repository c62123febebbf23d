-- Ends the lease, where it is this owner's, and wakes one waiter.
--
-- KEYS  lock, wake, and with `refused` state; or lock alone: then nobody is woken
-- ARGV  owner, token; token '' is whatever token this owner was granted (its reply was lost)
--       refused: nothing, '' or the token up to which the database refuses those of this resource
-- Replies RELEASED | NOT_HELD.

-- Whoever asks next must not get what would be refused as well: the counter passes it by, and a block without anything
-- else is used up. Held or not, that is no harm: tokens may be skipped.
local refused = ARGV[3]
if refused and refused ~= '' then
  local fields = redis.call('HMGET', KEYS[3], 'last', 'end')
  local last, stop = fields[1], fields[2]
  if last and stop and less(last, refused) then
    redis.call('HSET', KEYS[3], 'last', less(stop, refused) and stop or refused)
  end
end

local held = redis.call('GET', KEYS[1])
local colon = held and string.find(held, ':', 1, true)
if not colon or string.sub(held, colon + 1) ~= ARGV[1]
    or (ARGV[2] ~= '' and string.sub(held, 1, colon - 1) ~= ARGV[2]) then
  return {'NOT_HELD'}
end
redis.call('DEL', KEYS[1])

if KEYS[2] then wake_one(KEYS[2]) end
return {'RELEASED'}
