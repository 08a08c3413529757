"""Errors of the vendor, formatted per profile.

``render`` picks the formatter of a profile; ``format_serverless``, ``format_gateways`` and ``format_openai`` have the
texts, and ``refusals`` builds the errors.
"""
