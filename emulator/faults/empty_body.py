"""Fault ``empty_body``: a response has no body."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.base import Fault


class EmptyBody(Fault):
    """Send the status and the headers with a body of no bytes.

    A client that parses whatever comes with a good status fails on it.
    """

    type: Literal["empty_body"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        return replace(response, chunks=(), promised=0)
