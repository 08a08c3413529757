-- Say when a call will end. KEYS[1]: the session's base; ARGV: ticket, end.
local bill = redis.call('HGET', KEYS[1] .. ':ticket:' .. ARGV[1], 'bill')
for _, charge in ipairs(bill and cjson.decode(bill) or {}) do
  local _, key = open(KEYS[1], charge)
  if charge.strategy == 'places' then redis.call('ZADD', key .. ':at', 'XX', ARGV[2], ARGV[1]) end
end
return 1
