-- Documents of a namespace are indexed by location: their sizes with the sum, and the order in which they were written.
local function release(root, name)
  local documents = root .. ':documents'
  redis.call('HINCRBY', documents, 'sum', 0 - tonumber(redis.call('HGET', documents, name) or 0))
  redis.call('HDEL', documents, name)
  redis.call('ZREM', root .. ':written', name)
end

local function root_of(base) return string.match(base, '^(.*):session:') end

-- Delete all keys of a session.
local function forget(base)
  local root, shelves = root_of(base), base .. ':shelf:'
  for _, key in ipairs(redis.call('SMEMBERS', base .. ':keys')) do
    if string.sub(key, 1, #shelves) == shelves then
      for _, field in ipairs(redis.call('HKEYS', key)) do release(root, key .. ' ' .. field) end
    end
    redis.call('UNLINK', key)
  end
  redis.call('UNLINK', base .. ':keys')
  redis.call('ZREM', root .. ':sessions', base)
  if redis.call('EXISTS', root .. ':written') == 0 then redis.call('UNLINK', root .. ':documents') end
end

-- Delete all keys of a namespace.
local function forget_all(root)
  for _, base in ipairs(redis.call('ZRANGE', root .. ':sessions', 0, -1)) do forget(base) end
end
