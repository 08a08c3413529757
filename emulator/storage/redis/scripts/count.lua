-- Add one to a counter, and say what it was. KEYS[1]: the session's base; ARGV: which, a shelf that must be bare or empty.
-- Returns nothing if that is not so.
if has_documents(KEYS[1], ARGV[2]) then return {} end
return { count(KEYS[1], ARGV[1], true) }
