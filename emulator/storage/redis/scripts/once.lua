-- Run a command once, however often it arrives: a process asks again if it has lost the reply, and the first command
-- may arrive after that. The last of ARGV: key of the owner's replies, field, number of the command. Fields are used
-- in turn, so a reply is kept until the owner has sent that many more.
local REPLIES, FIELD, NUMBER = string.match(table.remove(ARGV), '^(.*) (%S+) (%d+)$')
local known = redis.call('HGET', REPLIES, FIELD)
if known and string.match(known, '^%d+') == NUMBER then
  local reply = cjson.decode(string.match(known, ' (.*)$'))
  return reply
end

local function finish(reply)
  if redis.call('HSET', REPLIES, FIELD, NUMBER .. ' ' .. cjson.encode(reply)) == 1 then
    redis.call('EXPIRE', REPLIES, 86400)
  end
  return reply
end
