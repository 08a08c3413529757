"""An attack on a running emulator: ``python -m tests.tools.fuzz --seconds 600 --seed 1``."""
