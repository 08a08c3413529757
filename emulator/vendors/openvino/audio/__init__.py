"""Graphs that speak and graphs that listen, and the sounds themselves."""
