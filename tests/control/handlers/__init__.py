"""Tests of the control handlers."""
