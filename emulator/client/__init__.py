"""What a test asks of an emulator that runs, here or elsewhere: the same for code that blocks and code that awaits."""

from emulator.client.awaiting import AsyncEmulatorClient
from emulator.client.blocking import EmulatorClient
from emulator.client.request import EmulatorError

__all__ = ["AsyncEmulatorClient", "EmulatorClient", "EmulatorError"]
