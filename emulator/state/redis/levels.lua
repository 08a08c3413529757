-- How every share stands that was ever asked for. KEYS[1]: the session's base; ARGV: now.
-- Returns for each its charge as JSON, what is left, and the wait for all of it.
local base, now, answer = KEYS[1], tonumber(ARGV[1]), {}
for _, key in ipairs(redis.call('ZRANGE', base .. ':order', 0, -1)) do
  local text = redis.call('HGET', base .. ':shares', key)
  local charge = cjson.decode(text)
  local account = ACCOUNTS[charge.strategy]
  answer[#answer + 1] = text
  answer[#answer + 1] = exact(account.left(key, charge, now))
  answer[#answer + 1] = say(account.wait(key, charge, charge.amount, now))
end
return answer
