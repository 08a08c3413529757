-- Send a reply to a change. KEYS[1]: list of replies to the change; ARGV: reply.
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], 30) -- longer than any wait for replies
return {}
