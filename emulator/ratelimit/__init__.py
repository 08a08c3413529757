"""Admission of calls: quotas, and concurrency limits with a queue."""

from emulator.ratelimit.admission import AdmissionController, Ticket
from emulator.ratelimit.concurrency import ConcurrencyLimits
from emulator.ratelimit.recovery import FindRecovery, Recovery
from emulator.ratelimit.retry_after import LimitError

__all__ = ["AdmissionController", "ConcurrencyLimits", "FindRecovery", "LimitError", "Recovery", "Ticket"]
