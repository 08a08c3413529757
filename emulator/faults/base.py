"""``Fault``, the base of all faults: a model with a ``type`` and fields, and a pure function from response to response.

``apply_faults`` applies those that a rule or a header has chosen.
"""

from collections.abc import Callable, Iterable
from math import inf
from typing import ClassVar, TypeVar

from emulator.core.faultable import FaultableResponse
from emulator.core.units import StrictModel


class Fault(StrictModel):
    """Base model of a fault.

    Class variables:
        whole_events: the fault adds or moves whole events, and changes the bytes of none.
        pieces: maximum number of writes that it makes of a token's bytes.
        is_noticeable: a sound client has to notice it; not so other writes of the same bytes.
    """

    whole_events: ClassVar[bool] = False
    pieces: ClassVar[int] = 1
    is_noticeable: ClassVar[bool] = True

    @property
    def needs_events(self) -> bool:
        """Return whether the fault leaves whole responses unchanged."""
        return False

    @property
    def leaves_nothing(self) -> bool:
        """Return whether no byte is sent, so that later faults have no effect."""
        return False

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        """Return the response with the fault."""
        raise NotImplementedError


F = TypeVar("F", bound=Fault)


def apply_faults(
    response: FaultableResponse,
    faults: Iterable[F],
    on_fault: Callable[[F, FaultableResponse, FaultableResponse], None] | None = None,
) -> FaultableResponse:
    """Apply faults in order, until one delays the response forever.

    ``on_fault`` is called for each fault, with the response before and after it.
    """
    for fault in faults:
        if response.start == inf:
            break
        before, response = response, fault.apply(response)
        if on_fault is not None:
            on_fault(fault, before, response)
    return response
