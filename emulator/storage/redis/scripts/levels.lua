-- Return the level of every share used so far. KEYS[1]: session base; ARGV: now.
-- Returns for each its JSON, the units left, and the wait for the whole amount, in the order of first use.
local base, now, answer = KEYS[1], tonumber(ARGV[1]), {}
for _, key in ipairs(redis.call('LRANGE', base .. ':order', 0, -1)) do
  local text = redis.call('HGET', base .. ':shares', key)
  local share = cjson.decode(text)
  local account = open(base, share, now)
  answer[#answer + 1] = text
  answer[#answer + 1] = exact(account.left(share))
  answer[#answer + 1] = say(account.wait(share, share.amount, now))
end
return answer
