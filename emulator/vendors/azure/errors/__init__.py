"""Errors of the vendor, formatted per profile."""
