"""A client as people write it by hand: one script takes the lock and counts, another releases it.

plain_client.py SOCKET acquire RESOURCE ID TTL_MS    prints the token, or "held"
plain_client.py SOCKET release RESOURCE ID           prints "released", or "not held"
"""
import sys

import redis

ACQUIRE = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return false
"""
RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""

socket, command, resource, holder = sys.argv[1:5]
server = redis.Redis(unix_socket_path=socket)
keys = ["lock:" + resource, "fence:" + resource]
if command == "acquire":
    token = server.register_script(ACQUIRE)(keys=keys, args=[holder, sys.argv[5]])
    print("held" if token is None else token)
else:
    print("released" if server.register_script(RELEASE)(keys=keys[:1], args=[holder]) else "not held")
