-- Ends the lease here, where it is this owner's with this token; or what this attempt has left. Wakes one waiter.
--
-- KEYS  2 wake
-- ARGV  owner, token or '', attempt or ''
-- Replies RELEASED | NOT_HELD, with this server's time in ms as the last element.

if owner ~= ARGV[1] or (ARGV[2] ~= '' and token ~= ARGV[2]) or (ARGV[3] ~= '' and attempt ~= ARGV[3]) then
  return {'NOT_HELD', now}
end
redis.call('DEL', lock)

-- Nobody waits for an attempt that fails: a wake would only bring the next one that fails.
if token ~= '0' then wake_one(KEYS[2]) end
return {'RELEASED', now}
