-- Put before the scripts that release, by the build.

-- Lets one waiter go. The lock is gone by now, and a wake is a hint: its failure (memory, rights) must not hide the release.
local function wake_one(list)
  if redis.pcall('LLEN', list) == 0 then
    redis.pcall('LPUSH', list, '1')
    redis.pcall('PEXPIRE', list, 1000)
  end
end
