-- Forget tickets whose charges stay as they are. KEYS[1]: the session's base; ARGV: owner's key, each ticket.
for place = 2, #ARGV do
  redis.call('HDEL', KEYS[1] .. ':tickets', ARGV[place])
  redis.call('HDEL', ARGV[1], KEYS[1] .. ' ' .. ARGV[place])
end
return {}
