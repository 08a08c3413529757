"""Who is let in, and when: quotas, and the slots of a server that runs only so many calls at once."""

from emulator.ratelimit.admission import Admission, Gate, LimitError
from emulator.ratelimit.concurrency import Room

__all__ = ["Admission", "Gate", "LimitError", "Room"]
