"""Encodings that know nothing of a vendor: SSE, floats, Prometheus text, images, audio."""
