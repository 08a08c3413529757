"""``/vector_stores``: files that are searched by their words, and the file search of Responses."""
