"""Wire formats that two or more vendors share."""
