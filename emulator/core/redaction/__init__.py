"""Credentials are cut wherever one can stand, before anybody reads what was sent and said."""
