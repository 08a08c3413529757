"""Scenario files: models, parsing, validation, and matching requests against rules."""
