"""State of the control plane, which the server sets and the control API shows."""

from collections.abc import Awaitable, Callable, Mapping

from emulator.control.auth import ControlAuth
from emulator.runtime.runtime import Runtime


async def _stay() -> None:
    """Do nothing, before the listeners set :attr:`ControlState.follow`."""


class ControlState:
    """State of the control plane of a runtime.

    Fields:
        ready, urls: set once all ports listen.
        follow: opens the ports that a new scenario needs.
        authority: certificate (PEM) of the local certificate authority, if the server has one.
        auth: authorises requests.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.ready = False
        self.urls: Mapping[str, str] = {}
        self.follow: Callable[[], Awaitable[None]] = _stay
        self.authority: bytes | None = None
        self.auth = ControlAuth()
