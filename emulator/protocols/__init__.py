"""Wire formats and habits that two or more vendors share."""
