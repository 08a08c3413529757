"""Each sensible request with something giant in one of its places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle

from emulator.core.errors import EmulatedError
from emulator.core.vendor import AnyEndpoint
from emulator.http.routing import Router
from emulator.vendors import VENDORS
from tests.tools.attack.rows import Row, sending, write
from tests.tools.fuzz.requests import list_seeds
from tests.untyped_json import JSON

_MIB = 1024**2
_MARK = "@@giant@@"
_KINDS: dict[str, Callable[[], bytes]] = {
    "30 MB of text": lambda: b'"' + b"lorem ips " * 3_000_000 + b'"',
    "30 MB of words": lambda: b'"' + b"a " * 15_000_000 + b'"',
    "8 MB of text and an emoji": lambda: b'"' + b"lorem ips " * 800_000 + "🙂".encode() + b'"',
    "10 MB of Chinese": lambda: b'"' + "漢字".encode() * 1_700_000 + b'"',
    "18 MB of escapes": lambda: b'"' + b"\\u6f22" * 3_000_000 + b'"',
    "20 MB of base64": lambda: b'"data:image/png;base64,' + b"iVBORw0KGgo" * 1_900_000 + b'"',
    "290,000 numbers": lambda: b"[" + b"1," * 289_000 + b"1]",
    "290,000 texts": lambda: b"[" + b'"a",' * 289_000 + b'"a"]',
    "290,000 objects": lambda: b"[" + b"{}," * 289_000 + b"{}]",
    "290,000 members": lambda: b"{" + b",".join(b'"k%d":1' % n for n in range(289_000)) + b"}",
    "200 levels": lambda: b"[" * 200 + b"]" * 200,
    "300 levels": lambda: b"[" * 300 + b"]" * 300,
    "700 levels": lambda: b'{"a":' * 700 + b"1" + b"}" * 700,
    "15,000 levels": lambda: b"[" * 15_000 + b"]" * 15_000,
    "15,000 objects in objects": lambda: b'{"a":' * 15_000 + b"1" + b"}" * 15_000,
    "a million levels": lambda: b"[" * 1_000_000 + b"]" * 1_000_000,
    "a million digits": lambda: b"9" * 1_000_000,
    "15,000,000 numbers": lambda: b"[" + b"1," * 15_000_000 + b"1]",
    "500,000 lists in lists": lambda: b"[" + b"[]," * 499_999 + b"[]]",
    "4,000 digits": lambda: b"9" * 4_000,
    "30 MB of spaces": lambda: b" " * 30 * _MIB + b"1",
    "70,000 messages": lambda: b"[" + b'{"role":"user","content":"a"},' * 69_999 + b'{"role":"user","content":"a"}]',
}


def list_giants(vendor: str, *, every: bool = False) -> Iterator[Row]:
    """A kind in each place of each request, one after the other; ``every``: each kind."""
    seen: set[tuple[AnyEndpoint, str]] = set()
    turns = cycle(_KINDS.items())
    router = Router(VENDORS[vendor].endpoints)
    for method, target, lines, body in list_seeds(vendor):
        try:
            endpoint, _ = router.resolve(method, target.partition("?")[0])
        except EmulatedError:
            continue
        for place, bent in _places(body):
            if (endpoint, place) in seen:
                continue
            seen.add((endpoint, place))
            kinds = [*_KINDS.items()] if every else [next(turns)]
            for name, make in kinds:
                act = sending(vendor, partial(_fill, method, target, lines, bent, make))
                yield Row(vendor, f"{method} {target} {place}: {name}", act)


def _fill(method: str, target: str, lines: Sequence[str], bent: bytes, make: Callable[[], bytes]) -> bytes:
    return write(method, target, bent.replace(f'"{_MARK}"'.encode(), make()), *lines)


def _places(body: bytes) -> Iterator[tuple[str, bytes]]:
    """The body with a mark in one place, for each of them."""
    try:
        value = json.loads(body)
    except ValueError:
        return
    for path in _paths(value):
        bent = copy.deepcopy(value)
        holder = bent
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = _MARK
        yield ".".join("[]" if isinstance(key, int) else key for key in path), json.dumps(bent).encode()


def _paths(value: JSON, *before: str | int) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield (*before, key)
        yield from _paths(child, *before, key)
