"""Faults that change a response on its way to the client, one file each; ``AnyFault`` is the union of their models."""

from typing import Annotated

from pydantic import Field

from emulator.faults.bad_arguments import BadArguments, find_breakage
from emulator.faults.base import Fault, apply_faults
from emulator.faults.disconnect import Disconnect
from emulator.faults.drip import Drip
from emulator.faults.drop import Drop
from emulator.faults.duplicate import Duplicate
from emulator.faults.empty_body import EmptyBody
from emulator.faults.extra_fields import ExtraFields
from emulator.faults.fault_sites import FaultSite, locate_faults
from emulator.faults.garbage import Garbage
from emulator.faults.hang import Hang
from emulator.faults.late_error import LateError
from emulator.faults.measure import measure
from emulator.faults.reorder import Reorder
from emulator.faults.split import Split
from emulator.faults.stall import Stall
from emulator.faults.status import Status
from emulator.faults.truncate import Truncate
from emulator.faults.wrong_content_type import WrongContentType
from emulator.faults.wrong_usage import WrongUsage

__all__ = ["AnyFault", "Fault", "FaultSite", "apply_faults", "find_breakage", "locate_faults", "measure"]

AnyFault = Annotated[
    Disconnect
    | Truncate
    | Stall
    | Hang
    | Drip
    | LateError
    | Garbage
    | Drop
    | Duplicate
    | Reorder
    | WrongUsage
    | WrongContentType
    | EmptyBody
    | ExtraFields
    | Split
    | Status
    | BadArguments,
    Field(discriminator="type"),
]
