-- Set when a call is expected to end. KEYS[1]: session base; ARGV: ticket, end.
local known = redis.call('HGET', KEYS[1] .. ':tickets', ARGV[1])
for _, charge in ipairs(known and cjson.decode(string.match(known, ' (.*)$')) or {}) do
  if charge.strategy == 'places' then
    redis.call('ZADD', KEYS[1] .. ':share:' .. charge.key .. ':at', 'XX', ARGV[2], ARGV[1])
  end
end
return {}
