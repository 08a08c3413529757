-- Enter calls in a session's journal. KEYS[1]: the prefix; ARGV: session, the most it keeps, each call.
-- Returns the number of the first. Numbers rise over all sessions.
local prefix, session = KEYS[1], ARGV[1]
local journal, number = prefix .. ':journal:' .. session, prefix .. ':number'
if redis.call('EXISTS', number) == 0 then redis.call('SET', number, redis.call('TIME')[1] .. '000') end
local last = redis.call('INCRBY', number, #ARGV - 2)
local first = last - (#ARGV - 3)
for position = 3, #ARGV do
  redis.call('RPUSH', journal, string.format('%.0f', first + position - 3) .. ' ' .. ARGV[position])
end
redis.call('LTRIM', journal, 0 - tonumber(ARGV[2]), -1)
redis.call('ZADD', prefix .. ':journals', string.format('%.0f', last), session)
for _, key in ipairs({ journal, number, prefix .. ':journals' }) do redis.call('EXPIRE', key, 86400) end
return { string.format('%.0f', first) }
