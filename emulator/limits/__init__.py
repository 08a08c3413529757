"""Who is let in, and when: quotas, and the places of a server that runs only so many calls at once."""

from emulator.limits.gate import Admission, Gate
from emulator.limits.places import Room

__all__ = ["Admission", "Gate", "Room"]
