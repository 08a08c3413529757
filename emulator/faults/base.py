"""What every fault is: a name, some fields, and a pure function from an answer to the answer bent."""

from __future__ import annotations

from emulator.core.delivery import Delivery
from emulator.core.values import Closed


class Fault(Closed):
    """Something that goes wrong with an answer on its way."""

    @property
    def needs_events(self) -> bool:
        """It does nothing to an answer in one piece."""
        return False

    def bend(self, delivery: Delivery) -> Delivery:
        """The answer with the fault in it."""
        raise NotImplementedError
