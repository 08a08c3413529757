"""Errors of the vendor, formatted per profile.

``render`` picks the formatter of a profile; ``format_serverless``, ``format_gateways`` and ``format_openai`` have the
texts, ``rate_limits`` those of a 429, and ``refusals`` builds the errors.
"""
