"""The Responses API, as vendors that serve GPT models speak it."""
