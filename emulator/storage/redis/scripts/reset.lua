-- Forget all of a session. KEYS[1]: its base; or of a world, of which ARGV[1] is 'all'.
if ARGV[1] == 'all' then forget_all(KEYS[1]) else forget(KEYS[1]) end
return {}
