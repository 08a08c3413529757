-- Say what became of a change. KEYS[1]: where replies to it are waited for; ARGV: the reply.
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], 30) -- nobody asks for them later
return {}
