"""Answers held against the makers' official descriptions: ``pytest --official FOLDER``."""
