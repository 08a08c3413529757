"""Shared models that import nothing else of the package: requests, plans, HTTP, errors, clocks, keyed random draws."""
