"""Handlers of the control API, one module per resource, and the class that unites them."""

from emulator.control.handlers.clock import ClockHandlers
from emulator.control.handlers.requests import RequestHandlers
from emulator.control.handlers.scenario import ScenarioHandlers
from emulator.control.handlers.sessions import SessionHandlers
from emulator.control.handlers.status import StatusHandlers
from emulator.control.handlers.verdict import VerdictHandlers


class Handlers(RequestHandlers, ScenarioHandlers, SessionHandlers, ClockHandlers, StatusHandlers, VerdictHandlers):
    """All handlers but the report."""
