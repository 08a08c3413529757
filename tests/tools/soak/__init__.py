"""A mixed load for hours, and what it leaves behind."""
