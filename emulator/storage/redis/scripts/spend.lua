-- Make all charges, or none if a quota is insufficient. KEYS[1]: session base; ARGV: ticket, now, charges as JSON,
-- owner key, counter to increment or '', collection that must be empty or '', '1' to renew the expiry of all keys
-- or '', the full JSON of each share.
-- Returns for each charge the units left and the wait, '' where the quota was sufficient; last the counter's value
-- before. Returns an empty list if the collection has documents.
if has_documents(KEYS[1], ARGV[6]) then return finish({}) end
local base, ticket, now, bill, renews = KEYS[1], ARGV[1], tonumber(ARGV[2]), cjson.decode(ARGV[3]), ARGV[7] ~= ''
local accounts, waits, enough, answer = {}, {}, true, {}
for number, share in ipairs(bill) do
  accounts[number] = open(base, share, now)
  if share.cost > 0 then waits[number] = accounts[number].wait(share, share.cost + (share.held or 0), now) end
  enough = enough and waits[number] == nil
end
for number, share in ipairs(bill) do
  if enough then accounts[number].take(share, ticket, now) end
  if renews or share.is_new then
    for _, part in ipairs(accounts[number].keys) do keep(base, share.key .. part, 2 * share.window) end
    tell(base, share.key, ARGV[7 + number])
  end
  answer[2 * number - 1] = exact(accounts[number].left(share))
  answer[2 * number] = say(waits[number])
end
if enough then
  redis.call('HSET', base .. ':tickets', ticket, ARGV[2] .. ' ' .. ARGV[3])
  keep(base, base .. ':tickets')
  redis.call('HSET', ARGV[4], base .. ' ' .. ticket, '')
  redis.call('EXPIRE', ARGV[4], DAY)
end
if ARGV[5] ~= '' then answer[#answer + 1] = count(base, ARGV[5], renews) end
return finish(answer)
