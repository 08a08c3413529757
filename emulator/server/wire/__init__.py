"""Sockets and what goes over them: connections, heads, and bytes at their due times."""
