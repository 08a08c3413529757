"""Redaction of credentials in recorded requests and responses, before they are stored or shown.

``values`` redacts headers, URLs and texts; ``bodies`` redacts bodies, with ``document`` for JSON. ``names`` decides
which names mean a credential, ``tokens`` finds those of a known form, and ``credentials`` masks or digests one.
"""
