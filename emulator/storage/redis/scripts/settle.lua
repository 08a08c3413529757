-- Put true costs in place of what was spent. KEYS[1]: the session's base; ARGV: ticket, now, costs or empty, owner's key.
-- Without time and costs the owner has died: what was surely used stays, and the rest comes back.
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
