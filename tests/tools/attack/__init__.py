"""Everything that was made to stop an emulator, sent to one: ``python -m tests.tools.attack``."""
