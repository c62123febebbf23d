-- Put behind common.lua by the build, where scripts need the time.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- What arrives after its sender gave up must do nothing: nobody would undo it, and it would keep others waiting.
-- not_after  ms of this server's clock
local function is_late(not_after) return now >= tonumber(not_after) end
