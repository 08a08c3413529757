-- Delete the data of a session. KEYS[1]: session base; or of a namespace, if ARGV[1] is 'all'.
if ARGV[1] == 'all' then forget_all(KEYS[1]) else forget(KEYS[1]) end
return finish({})
