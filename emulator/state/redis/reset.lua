-- Forget all of a session. KEYS[1]: its base.
for _, key in ipairs(redis.call('SMEMBERS', KEYS[1] .. ':keys')) do redis.call('DEL', key) end
redis.call('DEL', KEYS[1] .. ':keys')
return 1
