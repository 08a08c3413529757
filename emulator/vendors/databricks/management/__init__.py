"""Management API of serving endpoints."""
