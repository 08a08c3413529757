"""Redaction of credentials in recorded requests and responses, before they are stored or shown.

``values`` redacts headers, URLs and texts; ``bodies`` redacts bodies, with ``document`` for JSON. ``names`` decides
which names mean a credential, and ``credentials`` masks or digests a single one.
"""
