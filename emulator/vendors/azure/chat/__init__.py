"""Azure's ``POST /chat/completions``, with its tools, stored completions, streams and audio answers."""
