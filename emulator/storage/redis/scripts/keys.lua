-- Index and expiry of the keys of a session.
local DAY, HOUR = 86400, 3600

local function exact(number) return string.format('%.17g', number) end

-- Set the expiry of a key to at least the given time.
local function hold(key, seconds)
  if redis.call('TTL', key) < seconds then redis.call('EXPIRE', key, seconds) end
end

-- Each key is in the index of its session, and each session in that of its namespace. A key expires a day after its
-- last use, and a reset deletes it. A key with more than a day left is already indexed.
local function keep(base, key, seconds)
  seconds = math.max(DAY, seconds or DAY)
  if redis.call('TTL', key) >= seconds then return end
  local sessions, index = root_of(base) .. ':sessions', base .. ':keys'
  redis.call('EXPIRE', key, seconds + HOUR)
  redis.call('SADD', index, key)
  hold(index, seconds + HOUR)
  local seconds_now, micros = unpack(redis.call('TIME'))
  redis.call('ZADD', sessions, exact(seconds_now + micros / 1e6), base)
  hold(sessions, seconds + HOUR)
  if redis.call('ZCARD', sessions) > MOST_SESSIONS then forget(redis.call('ZRANGE', sessions, 0, 0)[1]) end
end

-- Register a share for `levels`; beyond the maximum, evict the oldest share of the session.
local function tell(base, key, text)
  local shares, order = base .. ':shares', base .. ':order'
  local known = redis.call('HGET', shares, key)
  if not known then
    redis.call('RPUSH', order, key)
    keep(base, order)
    if redis.call('LLEN', order) > MOST_SHARES then
      local first = redis.call('LPOP', order)
      redis.call('HDEL', shares, first)
      redis.call('UNLINK', first, first .. ':at')
      redis.call('SREM', base .. ':keys', first, first .. ':at')
    end
  end
  if known ~= text then redis.call('HSET', shares, key, text) end
  keep(base, shares)
end

-- Return whether a collection has documents; false for ''.
local function has_documents(base, shelf)
  return shelf ~= '' and redis.call('EXISTS', base .. ':shelf:' .. shelf) == 1
end

-- Increment a counter and return its value before. A session's share of the capacity has two generations: once the
-- younger is full, within a tenth, it replaces the older, which evicts the counters not used since.
-- `renews`: renew the expiry of all keys.
local function count(base, which, renews)
  local young, old = base .. ':counts', base .. ':counts:old'
  local before = redis.call('HINCRBY', young, which, 1) - 1
  if before == 0 then
    local known = tonumber(redis.call('HGET', old, which) or 0)
    if known > 0 then
      before = known
      redis.call('HSET', young, which, before + 1)
      redis.call('HDEL', old, which)
    end
    local size = redis.call('HLEN', young)
    renews = renews or size == 1
    if size < 100 or size % 10 == 0 then
      local part = MOST_COUNTERS / 2 / math.max(1, redis.call('ZCARD', root_of(base) .. ':sessions'))
      if size >= part then
        redis.call('RENAME', young, old)
        redis.call('SADD', base .. ':keys', old)
      end
    end
  end
  if renews then keep(base, young) end
  return exact(before)
end
