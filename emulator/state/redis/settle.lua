-- Put true costs in place of what was spent. KEYS[1]: the session's base; ARGV: ticket, now, costs or empty, owner's key.
-- Without time and costs the owner has died: what was surely used stays, and the rest comes back.
local base, ticket = KEYS[1], ARGV[1]
local record = base .. ':ticket:' .. ticket
local at, bill = unpack(redis.call('HMGET', record, 'at', 'bill'))
redis.call('HDEL', ARGV[4], record)
if not bill then return 0 end
redis.call('DEL', record)
redis.call('SREM', base .. ':keys', record)
local now = tonumber(ARGV[2]) or tonumber(at)
local costs = ARGV[3] ~= '' and cjson.decode(ARGV[3]) or nil
for number, charge in ipairs(cjson.decode(bill)) do
  local account, key = open(base, charge)
  account.settle(key, charge, ticket, charge.cost, costs and costs[number] or charge.least, tonumber(at), now)
end
return 1
