"""Graphs that draw, speak and listen; pictures, sounds and forms as bytes."""
