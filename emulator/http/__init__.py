"""HTTP server on aiohttp: connections, request heads, response writing, timeouts, TLS and session routing."""
