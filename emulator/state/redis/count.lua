-- Add one to a counter, and say what it was. KEYS[1]: the session's base; ARGV: which.
local before = redis.call('HINCRBY', KEYS[1] .. ':counts', ARGV[1], 1) - 1
keep(KEYS[1], 86400, { KEYS[1] .. ':counts' })
return { exact(before) }
