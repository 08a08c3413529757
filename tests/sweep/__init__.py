"""Tests of `emulator/sweep`."""
