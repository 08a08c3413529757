"""Tests of encodings."""
