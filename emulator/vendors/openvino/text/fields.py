"""What a request to a text graph says, field by field, once checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from emulator.core.json import JSON
from emulator.vendors.openvino.errors import refuse, refuse_body
from emulator.vendors.openvino.numbers import UINT32, is_uint32, is_uint64
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import Accepted


@dataclass(slots=True, eq=False)
class Fields:
    """What the request says, once checked.

    Fields:
        body: the request's members, without those that are null where that means absent.
        numbers: the float fields that were given.
        max_tokens: ``None``: until the end of the sequence.
        plain: special tokens are shown, so nothing is read out of the text.
    """

    accepted: Accepted
    release: Release
    body: dict[str, JSON]
    numbers: dict[str, float] = field(default_factory=dict)
    include_usage: bool = False
    ignore_eos: bool = False
    max_tokens: int | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    keep_stop: bool = False
    best_of: int = 1
    n: int = 1
    logprobs: bool = False
    echo: bool = False
    plain: bool = False

    @property
    def max_tokens_limit(self) -> int:
        """The graph's own, else that of the settings."""
        own: JSON = self.accepted.deployment.traits.get("max_tokens_limit")
        return own if is_uint32(own) else self.release.max_tokens_limit


def read_flag(read: Fields, name: str) -> bool:
    """A boolean, false if absent."""
    value = read.body.get(name, False)
    if not isinstance(value, bool):
        refuse(f"{name} accepts values true or false")
    return value


def read_limit(read: Fields, name: str, *, inclusive: bool = False) -> int | None:
    """A number of tokens, below the graph's limit (or, ``inclusive``, not above it)."""
    if name not in read.body:
        return None
    value = read.body[name]
    if not is_uint32(value):
        if is_uint64(value):
            refuse(f"{name} value can't be greater than {UINT32 - 1}")
        refuse(f"{name} is not an unsigned integer")
    limit = read.max_tokens_limit
    if limit and (value > limit if inclusive else value >= limit):
        refuse(f"{name} exceeds limit provided in graph config: {limit}")
    return value


def read_double(value: float) -> float:
    """A number as a C++ double; a literal too big for one was never JSON to the server's reader."""
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        refuse_body("Cannot parse JSON body")
    return number
