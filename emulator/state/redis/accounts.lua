-- How much of one quota's share is taken, by each strategy: what emulator/state/accounts.py does, where every replica
-- sees it. Times are seconds since the scenario began. Each function takes the share's key and its charge.

local EARLY = 1e-6 -- seconds; a wait that is over but for rounding is over
local NEVER = 'inf'

local function exact(number) return string.format('%.17g', number) end
local function floor(number) return math.floor(number) end

-- Refills continuously, by the whole amount in a window.
local Bucket = {}

function Bucket.used(key, charge, now)
  local used, at = unpack(redis.call('HMGET', key, 'used', 'at'))
  used, at = tonumber(used or 0), tonumber(at or 0)
  if now > at then used = math.max(0, used - (now - at) * charge.amount / charge.window) at = now end
  return used, at
end

local function slack(charge) return charge.amount / charge.window * EARLY end

function Bucket.left(key, charge, now)
  return math.max(0, floor(charge.amount - Bucket.used(key, charge, now) + slack(charge)))
end

function Bucket.wait(key, charge, cost, now)
  local over = Bucket.used(key, charge, now) + cost - charge.amount
  if over <= slack(charge) then return nil end
  return cost <= charge.amount and over / (charge.amount / charge.window) or charge.window
end

local function pour(key, charge, change, now)
  local used, at = Bucket.used(key, charge, now)
  redis.call('HSET', key, 'used', exact(math.max(0, used + change)), 'at', exact(at))
end

function Bucket.take(key, charge, ticket, cost, now) pour(key, charge, cost, now) end
function Bucket.settle(key, charge, ticket, taken, cost, at, now) pour(key, charge, cost - taken, now) end

-- Windows that follow one another, each with the whole amount.
local Fixed = {}

local function window_of(charge, time) return floor((time + EARLY) / charge.window) end

function Fixed.used(key, charge, now)
  local number, used = unpack(redis.call('HMGET', key, 'number', 'used'))
  number, used = tonumber(number or 0), tonumber(used or 0)
  local current = window_of(charge, now)
  if current > number then return current, 0 end
  return number, used
end

function Fixed.left(key, charge, now)
  local _, used = Fixed.used(key, charge, now)
  return math.max(0, charge.amount - used)
end

function Fixed.wait(key, charge, cost, now)
  local number, used = Fixed.used(key, charge, now)
  if used + cost <= charge.amount then return nil end
  return cost <= charge.amount and (number + 1) * charge.window - now or charge.window
end

function Fixed.take(key, charge, ticket, cost, now)
  local number, used = Fixed.used(key, charge, now)
  redis.call('HSET', key, 'number', number, 'used', used + cost)
end

function Fixed.settle(key, charge, ticket, taken, cost, at, now)
  local number, used = Fixed.used(key, charge, at)
  if window_of(charge, at) == number then redis.call('HSET', key, 'number', number, 'used', used + cost - taken) end
end

-- Each charge comes back a window after it was made.
local Sliding = {}

local function slide(key, charge, now)
  local gone = redis.call('ZRANGEBYSCORE', key .. ':at', '-inf', exact(now + EARLY - charge.window))
  for _, ticket in ipairs(gone) do
    redis.call('HINCRBY', key, 'used', 0 - tonumber(redis.call('HGET', key .. ':cost', ticket) or 0))
    redis.call('HDEL', key .. ':cost', ticket)
    redis.call('ZREM', key .. ':at', ticket)
  end
  return tonumber(redis.call('HGET', key, 'used') or 0)
end

function Sliding.left(key, charge, now) return math.max(0, charge.amount - slide(key, charge, now)) end

function Sliding.wait(key, charge, cost, now)
  local over = slide(key, charge, now) + cost - charge.amount
  if over <= 0 then return nil end
  local charges = redis.call('ZRANGE', key .. ':at', 0, -1, 'WITHSCORES')
  for place = 1, #charges, 2 do
    over = over - tonumber(redis.call('HGET', key .. ':cost', charges[place]))
    if over <= 0 then return tonumber(charges[place + 1]) + charge.window - now end
  end
  return charge.window
end

function Sliding.take(key, charge, ticket, cost, now)
  slide(key, charge, now)
  redis.call('HINCRBY', key, 'used', cost)
  redis.call('ZADD', key .. ':at', exact(now), ticket)
  redis.call('HSET', key .. ':cost', ticket, cost)
end

function Sliding.settle(key, charge, ticket, taken, cost, at, now)
  if redis.call('HEXISTS', key .. ':cost', ticket) == 1 then
    redis.call('HSET', key .. ':cost', ticket, cost)
    redis.call('HINCRBY', key, 'used', cost - taken)
  end
end

-- So many calls at the same time, however long each takes.
local Places = {}

function Places.left(key, charge, now) return charge.amount - redis.call('ZCARD', key .. ':at') end

function Places.wait(key, charge, cost, now)
  local leaving = redis.call('ZCARD', key .. ':at') + cost - charge.amount
  if leaving <= 0 then return nil end
  local ending = redis.call('ZRANGE', key .. ':at', leaving - 1, leaving - 1, 'WITHSCORES')[2]
  if ending == nil or ending == NEVER then return NEVER end
  return math.max(0, tonumber(ending) - now)
end

function Places.take(key, charge, ticket, cost, now)
  if cost > 0 then redis.call('ZADD', key .. ':at', '+inf', ticket) end
end

function Places.settle(key, charge, ticket) redis.call('ZREM', key .. ':at', ticket) end

local ACCOUNTS = { bucket = Bucket, fixed = Fixed, sliding = Sliding, places = Places }

local function open(base, charge)
  return ACCOUNTS[charge.strategy], base .. ':share:' .. charge.key
end

-- Every key of a session is known by its index, lives for a day after it was last used, and goes with a reset.
local function keep(base, seconds, keys)
  for _, key in ipairs(keys) do
    redis.call('SADD', base .. ':keys', key)
    redis.call('EXPIRE', key, seconds)
  end
  redis.call('EXPIRE', base .. ':keys', seconds)
end

local function keep_share(base, charge, key)
  keep(base, math.max(86400, math.ceil(2 * charge.window)), { key, key .. ':at', key .. ':cost' })
end

local function say(wait) return wait == nil and '' or wait == NEVER and NEVER or exact(wait) end
