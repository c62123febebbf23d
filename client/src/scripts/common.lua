-- What every script begins with, put before it by the build.

-- A replica does not know who holds a lock now, not even one that can be written: that one shares its primary's lineage
-- and state, so it would repeat its tokens. Nothing it could say is believed, so that is all it says.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is not a primary')
end

-- min-replicas-to-write is set and no replica is in reach. Before version 7 Redis does not refuse what scripts write then.
if string.find(replication, 'min_slaves_good_slaves:0', 1, true) then
  return redis.error_reply('NOREPLICAS Not enough good replicas to write.')
end

-- The id of this server's history. (To search for a pattern costs as much as two commands.)
local function lineage_of_server()
  local _, before = string.find(replication, 'master_replid:', 1, true)
  return string.sub(replication, before + 1, string.find(replication, '\r', before, true) - 1)
end

-- Decimals without leading zeros; digits of one length sort as numbers do in every locale.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
