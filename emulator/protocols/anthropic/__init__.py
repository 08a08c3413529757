"""The Messages API, as vendors that serve Claude speak it."""
