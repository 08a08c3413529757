-- Enter calls in a session's journal. KEYS[1]: the prefix; ARGV: session, the most it keeps, its owner's key, a name for
-- the calls, each call. Returns the number of the first. Numbers rise over all sessions. Calls that an owner entered last
-- are not entered again: it has not heard that they were.
local prefix, session, latest, before = KEYS[1], ARGV[1], ARGV[3] .. ':entered', 4
local batch, entered = string.match(redis.call('GET', latest) or '', '^(%S+) (%d+)$')
if batch == ARGV[4] then return { entered } end
local journal, number = prefix .. ':journal:' .. session, prefix .. ':number'
if redis.call('EXISTS', number) == 0 then redis.call('SET', number, redis.call('TIME')[1] .. '000') end
local last = redis.call('INCRBY', number, #ARGV - before)
local first = last - (#ARGV - before - 1)
for place = before + 1, #ARGV do
  redis.call('RPUSH', journal, string.format('%.0f', first + place - before - 1) .. ' ' .. ARGV[place])
end
redis.call('LTRIM', journal, 0 - tonumber(ARGV[2]), -1)
redis.call('ZADD', prefix .. ':journals', string.format('%.0f', last), session)
for _, key in ipairs({ journal, number, prefix .. ':journals' }) do redis.call('EXPIRE', key, 86400) end
redis.call('SET', latest, string.format('%s %.0f', ARGV[4], first), 'EX', 86400)
return { string.format('%.0f', first) }
