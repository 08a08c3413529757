"""Stores behind ``core.state.State``."""
