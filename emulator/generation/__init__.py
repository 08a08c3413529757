"""Deterministic content generation: tokens, prose, tool arguments, JSON documents and embeddings."""
