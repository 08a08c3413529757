"""What each keyword asks of a value."""
