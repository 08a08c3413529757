-- Renew a process's lease and the expiry of its namespaces. KEYS[1]: prefix; ARGV: owner key, lease in ms, then key
-- and value of each start time.
-- Returns 1 if a start time was lost, else 0; 1 if the process's lease had expired; the key of each dead owner.
local prefix, me, answer = KEYS[1], ARGV[1], { '0' }
for place = 3, #ARGV, 2 do
  if redis.call('SET', ARGV[place], ARGV[place + 1], 'NX') then answer[1] = '1' end
  redis.call('EXPIRE', ARGV[place], 86400)
end
redis.call('SET', me .. ':alive', '1', 'PX', ARGV[2])
answer[2] = tostring(redis.call('SADD', prefix .. ':owners', me))
for _, name in ipairs({ ':owners', ':worlds', ':birth', ':number' }) do redis.call('EXPIRE', prefix .. name, 86400) end
for _, owner in ipairs(redis.call('SMEMBERS', prefix .. ':owners')) do
  if redis.call('EXISTS', owner .. ':alive') == 0 then answer[#answer + 1] = owner end
end
return answer
