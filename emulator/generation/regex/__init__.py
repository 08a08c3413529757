"""Regular expressions as ECMA 262 writes them: read, matched, and texts found for them."""
