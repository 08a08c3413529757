-- How every share stands that was ever asked for. KEYS[1]: the session's base; ARGV: now.
-- Returns for each its charge as JSON, what is left, and the wait for all of it, in the order in which they came.
local base, now, found, answer = KEYS[1], tonumber(ARGV[1]), {}, {}
for number, told in ipairs(redis.call('HVALS', base .. ':shares')) do
  local place, text = string.match(told, '^(%d+) (.*)$')
  found[number] = { tonumber(place), text }
end
table.sort(found, function(one, other) return one[1] < other[1] end)
for _, pair in ipairs(found) do
  local share = cjson.decode(pair[2])
  local account = open(base, share, now)
  answer[#answer + 1] = pair[2]
  answer[#answer + 1] = exact(account.left(share))
  answer[#answer + 1] = say(account.wait(share, share.amount, now))
end
return answer
