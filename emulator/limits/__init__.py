"""Who is let in, and when: quotas, and the slots of a server that runs only so many calls at once."""

from emulator.limits.gate import Admission, Gate, LimitError
from emulator.limits.slots import Room

__all__ = ["Admission", "Gate", "LimitError", "Room"]
