-- Be one of the replicas. KEYS[1]: the prefix; ARGV: its owner's key, its lease in ms, 1 if it was there before,
-- a name. Returns the name of this store, which it has until it loses all, then each session and its world.
local prefix, me = KEYS[1], ARGV[1]
local alone = true
for _, owner in ipairs(redis.call('SMEMBERS', prefix .. ':owners')) do
  if owner ~= me and redis.call('EXISTS', owner .. ':alive') == 1 then alone = false end
end
if alone and ARGV[3] == '0' then
  for _, session in ipairs(redis.call('ZRANGE', prefix .. ':journals', 0, -1)) do
    redis.call('DEL', prefix .. ':journal:' .. session)
  end
  for _, text in ipairs(redis.call('HVALS', prefix .. ':worlds')) do -- nobody knows any more how they are called
    local world = cjson.decode(string.match(text, '^%d+ (.*)$'))
    if world.era ~= '' then
      forget_all(string.format('%s:world:%s.%.0f.%s', prefix, world.digest, world.seed, world.era))
    end
  end
  redis.call('DEL', prefix .. ':worlds', prefix .. ':journals')
end
redis.call('SADD', prefix .. ':owners', me)
redis.call('SET', me .. ':alive', '1', 'PX', ARGV[2])
redis.call('DEL', me .. ':inbox')
local birth = prefix .. ':birth'
redis.call('SET', birth, ARGV[4], 'NX')
redis.call('EXPIRE', birth, 86400)
local answer = redis.call('HGETALL', prefix .. ':worlds')
table.insert(answer, 1, redis.call('GET', birth))
return answer
