"""Graphs that generate text: chat and completions."""
