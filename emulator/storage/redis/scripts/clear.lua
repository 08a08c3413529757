-- Delete a session's journal, or all. KEYS[1]: prefix; ARGV: number of the last record to delete, optional session.
local prefix, last = KEYS[1], tonumber(ARGV[1])
local sessions = ARGV[2] and { ARGV[2] } or redis.call('ZRANGE', prefix .. ':journals', 0, -1)
for _, session in ipairs(sessions) do
  local journal = prefix .. ':journal:' .. session
  local first = redis.call('LINDEX', journal, 0)
  while first and tonumber(string.match(first, '^%d+')) <= last do
    redis.call('LPOP', journal)
    first = redis.call('LINDEX', journal, 0)
  end
  if not first then redis.call('ZREM', prefix .. ':journals', session) end
end
return {}
