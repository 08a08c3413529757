-- Replace a ticket's charges by the true costs. KEYS[1]: session base; ARGV: ticket, now, costs or '', owner key.
-- Without time and costs the owner is dead: each charge's `least` stays, and the rest is returned.
local base, ticket = KEYS[1], ARGV[1]
local known = redis.call('HGET', base .. ':tickets', ticket)
redis.call('HDEL', ARGV[4], base .. ' ' .. ticket)
if not known then return {} end
redis.call('HDEL', base .. ':tickets', ticket)
local at, bill = string.match(known, '^(%S+) (.*)$')
at = tonumber(at)
local now = tonumber(ARGV[2]) or at
local costs = ARGV[3] ~= '' and cjson.decode(ARGV[3]) or nil
for number, share in ipairs(cjson.decode(bill)) do
  local account = open(base, share, now)
  if not share.is_new then account.settle(share, ticket, costs and costs[number] or share.least, at) end
end
return {}
