-- Forget all of a session.
local function forget(base)
  for _, key in ipairs(redis.call('SMEMBERS', base .. ':keys')) do redis.call('UNLINK', key) end
  redis.call('UNLINK', base .. ':keys')
  redis.call('SREM', string.match(base, '^(.*):session:') .. ':sessions', base)
end

-- Forget all of a world.
local function forget_all(root)
  for _, base in ipairs(redis.call('SMEMBERS', root .. ':sessions')) do forget(base) end
end
