-- How the keys of a session are kept.
local DAY, HOUR = 86400, 3600

local function exact(number) return string.format('%.17g', number) end

-- Have a member in a set that lives as long as any of its members.
local function enlist(set, member, seconds)
  redis.call('SADD', set, member)
  if redis.call('TTL', set) < seconds then redis.call('EXPIRE', set, seconds) end
end

-- Every key of a session is known by its index, and the session by its world's; it lives for a day after it was last
-- used, and goes with a reset. A key that has more than a day left is known.
local function keep(base, key, seconds)
  seconds = math.max(DAY, seconds or DAY)
  if redis.call('TTL', key) >= seconds then return end
  redis.call('EXPIRE', key, seconds + HOUR)
  enlist(base .. ':keys', key, seconds + HOUR)
  enlist(string.match(base, '^(.*):session:') .. ':sessions', base, seconds + HOUR)
end

-- Let levels know of a share: its place among the others stands before what is told of it.
local function tell(base, key, text)
  local shares = base .. ':shares'
  local place, known = string.match(redis.call('HGET', shares, key) or '', '^(%d+) (.*)$')
  if known ~= text then redis.call('HSET', shares, key, (place or redis.call('HLEN', shares)) .. ' ' .. text) end
  keep(base, shares)
end

-- Add one to a counter, and say what it was.
local function count(base, which)
  local before = redis.call('HINCRBY', base .. ':counts', which, 1) - 1
  keep(base, base .. ':counts')
  return exact(before)
end
