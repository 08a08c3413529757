"""Handle one request: parse it, decide the response, record the call."""
