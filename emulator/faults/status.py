"""Fault ``status``: the right body under a wrong HTTP status."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from emulator.core.faultable import FaultableResponse
from emulator.core.units import Whole
from emulator.faults.base import Fault


class Status(Fault):
    """Send the right body under another status.

    It catches clients that check only the status, and those that check only the body.
    """

    type: Literal["status"]
    status: Annotated[Whole, Field(ge=200, le=599)] = Field(description="The HTTP status to send.", examples=[502])

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        return replace(response, status=self.status)
