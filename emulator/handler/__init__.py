"""The road of a request: parse, decide, write, record."""
