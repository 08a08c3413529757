"""Who is let in, and when: quotas, and the slots of a server that runs only so many calls at once."""

from emulator.ratelimit.admission import AdmissionController, LimitError, Ticket
from emulator.ratelimit.concurrency import ConcurrencyLimits

__all__ = ["AdmissionController", "ConcurrencyLimits", "LimitError", "Ticket"]
