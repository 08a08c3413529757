"""The Anthropic Messages API, for vendors that serve Claude."""
