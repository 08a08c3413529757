"""Mutants of every golden request, held against the rules of the specifications and the official descriptions."""
