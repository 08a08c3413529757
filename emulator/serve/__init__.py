"""Serve: start, supervise and stop server processes."""
