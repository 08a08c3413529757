-- Replace a document. KEYS[1]: session base; ARGV: collection, key, new document or '', document before or ''.
-- A document keeps its position among the others: a number precedes its text.
local base, shelf, key, document = KEYS[1], KEYS[1] .. ':shelf:' .. ARGV[1], ARGV[2], ARGV[3]
local found = redis.call('HGET', shelf, key)
local place, text = string.match(found or '', '^(%d+) (.*)$')
if (text or '') ~= ARGV[4] then return finish({ '0' }) end
if document == '' then
  redis.call('HDEL', shelf, key)
  weigh(base, shelf, key)
else
  redis.call('HSET', shelf, key, (place or redis.call('INCR', base .. ':place')) .. ' ' .. document)
  weigh(base, shelf, key, #key + #document)
end
keep(base, shelf)
keep(base, base .. ':place')
return finish({ '1' })
