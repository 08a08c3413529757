"""Handlers of the control API, one module per resource, and the class that unites them."""

from emulator.control.handlers.clock import ClockHandlers
from emulator.control.handlers.requests import RequestHandlers
from emulator.control.handlers.scenario import ScenarioHandlers
from emulator.control.handlers.sessions import SessionHandlers
from emulator.control.handlers.status import StatusHandlers


class Handlers(RequestHandlers, ScenarioHandlers, SessionHandlers, ClockHandlers, StatusHandlers):
    """All handlers but the report."""
