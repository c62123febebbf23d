-- What every script of Redlock begins with, put behind clock.lua by the build.
--
-- KEYS  1 lock   on each server a string `token:attempt:owner`; token 0 while its attempt has not been granted
--
-- A token is written only over what its own attempt found or left here before the token was issued, on a server that has
-- not restarted since. So of two grants that share a server, which any two do, the earlier one has the lower token.

local lock = KEYS[1]
local lineage = lineage_of_server()

local held = redis.call('GET', lock)
local token, attempt, owner = string.match(held or '', '^(%d+):(%x+):(.*)$')
