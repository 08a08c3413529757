"""An attack on a running emulator: ``python -m tests.fuzz --seconds 600 --seed 1``."""
