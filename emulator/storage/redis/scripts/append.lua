-- Append records to a session's journal. KEYS[1]: prefix; ARGV: session, maximum length, owner key, batch name,
-- records. Returns the number of the first; numbers rise over all sessions. An owner's latest batch is not appended
-- twice: the owner repeats the command if it lost the reply.
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
