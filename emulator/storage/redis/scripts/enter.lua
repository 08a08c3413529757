-- Join the replicas. KEYS[1]: prefix; ARGV: owner key, lease in ms, 1 to rejoin, a new id.
-- Returns the store's id, which changes when its data is lost, then each session and its snapshot.
local prefix, me = KEYS[1], ARGV[1]
local alone = true
for _, owner in ipairs(redis.call('SMEMBERS', prefix .. ':owners')) do
  if owner ~= me and redis.call('EXISTS', owner .. ':alive') == 1 then alone = false end
end
if alone and ARGV[3] == '0' then
  for _, session in ipairs(redis.call('ZRANGE', prefix .. ':journals', 0, -1)) do
    redis.call('DEL', prefix .. ':journal:' .. session)
  end
  for _, text in ipairs(redis.call('HVALS', prefix .. ':worlds')) do -- snapshots of replicas that are all gone
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
