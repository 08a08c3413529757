"""Control API under ``/_emulator``: scenarios, journal, verification, sessions, clock, metrics and console."""
