-- Return the earliest records of all sessions after a number, each as number and text, unordered.
-- KEYS[1]: prefix; ARGV: number, maximum records per session.
local prefix, after, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local found, bound, answer = {}, math.huge, {}

local function number_of(call) return tonumber(string.match(call, '^%d+')) end

for _, session in ipairs(redis.call('ZRANGEBYSCORE', prefix .. ':journals', '(' .. ARGV[1], '+inf')) do
  local journal = prefix .. ':journal:' .. session
  local length = redis.call('LLEN', journal)
  local low, high = 0, length -- binary search for the first record after the number
  while low < high do
    local middle = math.floor((low + high) / 2)
    if number_of(redis.call('LINDEX', journal, middle)) > after then high = middle else low = middle + 1 end
  end
  local calls = redis.call('LRANGE', journal, low, low + most - 1)
  if low + most < length then bound = math.min(bound, number_of(calls[#calls])) end
  found[#found + 1] = calls
end
for _, calls in ipairs(found) do
  for _, call in ipairs(calls) do
    if number_of(call) <= bound then answer[#answer + 1] = call end
  end
end
return answer
