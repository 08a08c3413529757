"""Parse and match regular expressions of ECMA 262, and generate texts for them."""
