"""What a test asks of an emulator that runs, here or elsewhere: the same for code that blocks and code that awaits."""

from emulator.client.aio import AsyncEmulatorClient
from emulator.client.request import EmulatorError
from emulator.client.sync import EmulatorClient

__all__ = ["AsyncEmulatorClient", "EmulatorClient", "EmulatorError"]
