"""Clients of a running emulator for tests: synchronous and asynchronous, with the same methods."""

from emulator.client.aio import AsyncEmulatorClient
from emulator.client.request import EmulatorError
from emulator.client.sync import EmulatorClient
from emulator.core.reply_call import ReplyCall

__all__ = ["AsyncEmulatorClient", "EmulatorClient", "EmulatorError", "ReplyCall"]
