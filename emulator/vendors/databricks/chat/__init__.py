"""The chat task."""
