"""Fault ``empty_body``: a response has no body."""

from dataclasses import replace
from typing import Literal

from emulator.core.faultable import FaultableResponse
from emulator.faults.base import Fault


class EmptyBody(Fault):
    """Send the status and the headers with a body of no bytes.

    It catches clients that parse the body of every successful response.
    """

    type: Literal["empty_body"]

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        return replace(response, chunks=(), promised=0)
