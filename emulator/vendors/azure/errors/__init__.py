"""Errors of the vendor, whose format depends on the profile, a kind of service.

``render`` picks the formatter of a profile; ``format_serverless``, ``format_gateways`` and ``format_openai`` have the
texts, ``rate_limits`` those of a 429, and ``refusals`` builds the errors.
"""
