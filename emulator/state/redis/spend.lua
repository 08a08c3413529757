-- Make every charge of a bill, or none. KEYS[1]: the session's base; ARGV: ticket, now, bill, owner's key, each charge.
-- Returns for each charge what is left and the wait, empty where there was enough.
local base, ticket, now, bill = KEYS[1], ARGV[1], tonumber(ARGV[2]), cjson.decode(ARGV[3])
local waits, enough, answer = {}, true, {}
for number, charge in ipairs(bill) do
  local account, key = open(base, charge)
  if charge.cost > 0 then waits[number] = account.wait(key, charge, charge.cost, now) end
  enough = enough and waits[number] == nil
end
for number, charge in ipairs(bill) do
  local account, key = open(base, charge)
  if enough then account.take(key, charge, ticket, charge.cost, now) end
  keep_share(base, charge, key)
  redis.call('ZADD', base .. ':order', 'NX', redis.call('ZCARD', base .. ':order'), key)
  redis.call('HSET', base .. ':shares', key, ARGV[4 + number])
end
keep(base, 86400, { base .. ':order', base .. ':shares' })
if enough then
  redis.call('HSET', base .. ':ticket:' .. ticket, 'at', ARGV[2], 'bill', ARGV[3])
  keep(base, 86400, { base .. ':ticket:' .. ticket })
  redis.call('HSET', ARGV[4], base .. ':ticket:' .. ticket, base)
end
for number, charge in ipairs(bill) do
  local account, key = open(base, charge)
  answer[2 * number - 1] = exact(account.left(key, charge, now))
  answer[2 * number] = say(waits[number])
end
return answer
