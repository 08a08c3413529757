-- Broadcast a change to all replicas. KEYS[1]: prefix; ARGV: change, session of the changed snapshot or '' with the
-- next, new snapshot or '' to delete it, version before or '-' if no snapshot changes.
-- Returns the change's number, then the key of each receiving owner; an empty list if another change came first.
local prefix, change, session, document, before = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local worlds, number = prefix .. ':worlds', prefix .. ':number'
if before ~= '-' then
  local version = string.match(redis.call('HGET', worlds, session) or '', '^(%d+) ') or '0'
  if version ~= before then return {} end
end
if redis.call('EXISTS', number) == 0 then -- a store that lost its data continues with higher numbers
  redis.call('SET', number, redis.call('TIME')[1] .. '000')
end
redis.call('INCR', number)
local answer = { redis.call('GET', number) }
for _, owner in ipairs(redis.call('SMEMBERS', prefix .. ':owners')) do
  if redis.call('EXISTS', owner .. ':alive') == 1 then
    redis.call('RPUSH', owner .. ':inbox', answer[1] .. ' ' .. change)
    redis.call('EXPIRE', owner .. ':inbox', 60)
    answer[#answer + 1] = owner
  end
end
if before ~= '-' then
  if document == '' then
    redis.call('HDEL', worlds, session)
  else
    redis.call('HSET', worlds, session, answer[1] .. ' ' .. document)
  end
end
redis.call('EXPIRE', worlds, 86400)
redis.call('EXPIRE', number, 86400)
return answer
