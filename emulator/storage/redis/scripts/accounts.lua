-- Rate limit strategies, as in emulator/ratelimit/strategies.py, for a quota share that all replicas use. Times are
-- seconds since the start of the scenario. A share is a charge with the fields that `open` adds: `used` of its amount,
-- and `is_new`. A strategy is built only where a charge needs it, because a script builds all its values anew on each
-- run.

local EARLY = 1e-6 -- seconds; absorbs rounding at the end of a wait
local NEVER = 'inf'
local ACCOUNTS = {}

local function floor(number) return math.floor(number) end
local function rest(share) return math.max(0, share.amount - share.used) end

-- Token bucket that refills continuously, by the quota's amount per window.
function ACCOUNTS.bucket()
  local Bucket = { keys = { '' } }

  local function pour(share, change)
    share.used = math.max(0, share.used + change)
    redis.call('HSET', share.key, 'used', exact(share.used), 'at', exact(share.at))
  end

  function Bucket.open(share, now)
    local used, at = unpack(redis.call('HMGET', share.key, 'used', 'at'))
    share.is_new = not used
    used, at = tonumber(used or 0), tonumber(at or 0)
    share.rate = share.amount / share.window
    if now > at then used = math.max(0, used - (now - at) * share.rate) at = now end
    share.used, share.at = used, at
  end

  function Bucket.left(share) return math.max(0, floor(share.amount - share.used + share.rate * EARLY)) end

  function Bucket.wait(share, cost)
    local over = share.used + cost - share.amount
    if over <= share.rate * EARLY then return nil end
    return cost <= share.amount and over / share.rate or share.window
  end

  function Bucket.take(share) pour(share, share.cost) end
  function Bucket.settle(share, ticket, cost) pour(share, cost - share.cost) end
  return Bucket
end

-- Consecutive windows, each with the whole amount.
function ACCOUNTS.fixed()
  local Fixed = { keys = { '' }, left = rest }

  local function window_of(share, time) return floor((time + EARLY) / share.window) end

  local function turn(share, change)
    share.used = share.used + change
    redis.call('HSET', share.key, 'number', share.number, 'used', share.used)
  end

  function Fixed.open(share, now)
    local number, used = unpack(redis.call('HMGET', share.key, 'number', 'used'))
    share.is_new = not used
    share.number, share.used = tonumber(number or 0), tonumber(used or 0)
    local current = window_of(share, now)
    if current > share.number then share.number, share.used = current, 0 end
  end

  function Fixed.wait(share, cost, now)
    if share.used + cost <= share.amount then return nil end
    return cost <= share.amount and (share.number + 1) * share.window - now or share.window
  end

  function Fixed.take(share) turn(share, share.cost) end

  function Fixed.settle(share, ticket, cost, at)
    if window_of(share, at) == share.number then turn(share, cost - share.cost) end
  end

  return Fixed
end

-- Window in which each charge returns one window after it was made; its cost is stored by ticket, next to the sum.
function ACCOUNTS.sliding()
  local Sliding = { keys = { '', ':at' }, left = rest }

  function Sliding.open(share, now)
    local gone = redis.call('ZRANGEBYSCORE', share.key .. ':at', '-inf', exact(now + EARLY - share.window))
    for _, ticket in ipairs(gone) do
      redis.call('HINCRBY', share.key, 'used', 0 - tonumber(redis.call('HGET', share.key, ticket) or 0))
      redis.call('HDEL', share.key, ticket)
      redis.call('ZREM', share.key .. ':at', ticket)
    end
    local used = redis.call('HGET', share.key, 'used')
    share.is_new, share.used = not used, tonumber(used or 0)
  end

  function Sliding.wait(share, cost, now)
    local over = share.used + cost - share.amount
    if over <= 0 then return nil end
    local charges = redis.call('ZRANGE', share.key .. ':at', 0, -1, 'WITHSCORES')
    for place = 1, #charges, 2 do
      over = over - tonumber(redis.call('HGET', share.key, charges[place]))
      if over <= 0 then return tonumber(charges[place + 1]) + share.window - now end
    end
    return share.window
  end

  function Sliding.take(share, ticket, now)
    share.used = share.used + share.cost
    redis.call('HSET', share.key, 'used', share.used, ticket, share.cost)
    redis.call('ZADD', share.key .. ':at', exact(now), ticket)
  end

  function Sliding.settle(share, ticket, cost)
    if redis.call('HEXISTS', share.key, ticket) == 1 then
      redis.call('HSET', share.key, 'used', share.used + cost - share.cost, ticket, cost)
    end
  end

  return Sliding
end

-- Limit on the number of calls at the same time.
function ACCOUNTS.places()
  local Places = { keys = { ':at' } }

  function Places.open(share)
    share.used = redis.call('ZCARD', share.key .. ':at')
    share.is_new = share.used == 0
  end

  function Places.left(share) return share.amount - share.used end

  function Places.wait(share, cost, now)
    local leaving = share.used + cost - share.amount
    if leaving <= 0 then return nil end
    local ending = redis.call('ZRANGE', share.key .. ':at', leaving - 1, leaving - 1, 'WITHSCORES')[2]
    if ending == nil or ending == NEVER then return NEVER end
    return math.max(0, tonumber(ending) - now)
  end

  function Places.take(share, ticket)
    if share.cost == 0 then return end
    share.used = share.used + 1
    redis.call('ZADD', share.key .. ':at', '+inf', ticket)
  end

  function Places.settle(share, ticket) redis.call('ZREM', share.key .. ':at', ticket) end
  return Places
end

local made = {}

-- Return the account of a charge, with the current state of its share.
local function open(base, charge, now)
  local account = made[charge.strategy] or ACCOUNTS[charge.strategy]()
  made[charge.strategy] = account
  charge.key = base .. ':share:' .. charge.key
  account.open(charge, now)
  return account
end

local function say(wait) return wait == nil and '' or wait == NEVER and NEVER or exact(wait) end
