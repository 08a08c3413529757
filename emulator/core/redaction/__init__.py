"""Redaction of credentials in recorded requests and responses, before they are stored or shown."""
