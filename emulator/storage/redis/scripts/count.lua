-- Increment a counter and return its value before. KEYS[1]: session base; ARGV: counter, collection or ''.
-- Returns an empty list if the collection has documents.
if has_documents(KEYS[1], ARGV[2]) then return finish({}) end
return finish({ count(KEYS[1], ARGV[1], true) })
