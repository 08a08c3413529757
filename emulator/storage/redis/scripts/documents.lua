-- Update the sizes for a written or deleted document; beyond the maximum, evict the documents written longest ago.
local function weigh(base, shelf, key, bytes)
  local root, name = root_of(base), shelf .. ' ' .. key
  local documents, written = root .. ':documents', root .. ':written'
  release(root, name)
  if bytes then
    redis.call('HSET', documents, name, bytes)
    redis.call('HINCRBY', documents, 'sum', bytes)
    redis.call('ZADD', written, redis.call('HINCRBY', documents, 'number', 1), name)
  end
  while tonumber(redis.call('HGET', documents, 'sum')) > MOST_BYTES do
    local first = redis.call('ZRANGE', written, 0, 0)[1]
    redis.call('HDEL', string.match(first, '^(%S+) (.*)$'))
    release(root, first)
  end
  hold(documents, DAY + HOUR)
  hold(written, DAY + HOUR)
end
