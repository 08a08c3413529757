-- Delete tickets with final charges. KEYS[1]: session base; ARGV: owner key, tickets.
for place = 2, #ARGV do
  redis.call('HDEL', KEYS[1] .. ':tickets', ARGV[place])
  redis.call('HDEL', ARGV[1], KEYS[1] .. ' ' .. ARGV[place])
end
return {}
