"""Admission of calls: quotas, and concurrency limits with a queue."""

from emulator.ratelimit.admission import AdmissionController, LimitError, Ticket
from emulator.ratelimit.concurrency import ConcurrencyLimits

__all__ = ["AdmissionController", "ConcurrencyLimits", "LimitError", "Ticket"]
