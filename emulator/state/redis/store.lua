-- Put a document in the place of another. KEYS[1]: the session's base; ARGV: shelf, key, document or empty, before or empty.
-- A document keeps its place among the others: a number stands before it.
local shelf = KEYS[1] .. ':shelf:' .. ARGV[1]
local found = redis.call('HGET', shelf, ARGV[2])
local place, text = string.match(found or '', '^(%d+) (.*)$')
if (text or '') ~= ARGV[4] then return { '0' } end
if ARGV[3] == '' then
  redis.call('HDEL', shelf, ARGV[2])
else
  redis.call('HSET', shelf, ARGV[2], (place or redis.call('INCR', KEYS[1] .. ':place')) .. ' ' .. ARGV[3])
end
keep(KEYS[1], shelf)
keep(KEYS[1], KEYS[1] .. ':place')
return { '1' }
