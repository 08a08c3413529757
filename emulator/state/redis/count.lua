-- Add one to a counter, and say what it was. KEYS[1]: the session's base; ARGV: which.
return { count(KEYS[1], ARGV[1]) }
