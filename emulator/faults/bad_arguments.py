"""Fault ``bad_arguments``: a tool call whose arguments are broken, as ``generation/broken_arguments.py`` does it."""

from typing import Literal

from pydantic import Field

from emulator.core.faultable import FaultableResponse
from emulator.core.plan import Breakage
from emulator.faults.base import Fault


class BadArguments(Fault):
    """Break the arguments of every tool call of the answer, and nothing else: usage and pace are those of the call.

    It catches clients that run a tool without validating its arguments, or fail at arguments that do not parse.
    """

    type: Literal["bad_arguments"]
    how: Breakage = Field(
        default="truncated",
        description="What is wrong: cut off, not JSON, a value of another type, an argument missing, or one too many.",
        examples=["not_json", "wrong_type", "missing", "extra"],
    )

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        """Return the response as it is: the call is broken when it is generated, so that it has tokens of its own."""
        return response


def find_breakage(faults: tuple[Fault, ...]) -> Breakage | None:
    """Return how the last such fault breaks the arguments."""
    return next((fault.how for fault in reversed(faults) if isinstance(fault, BadArguments)), None)
