"""No refusal shows how Python writes a value: every seed of every vendor with each of its members replaced."""

import copy
import json
import re
from collections.abc import Iterator

import pytest

from emulator.core.json import dump_json
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.tools.fuzz.requests import list_seeds
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

_PYTHON = re.compile(
    r"\b(None|True|False|NoneType|dict|tuple|frozenset)\b|<class|object at 0x|\b[A-Z]\w+(Error|Exception)\b"
)
_OWN = re.compile(  # words of services that are written in Python, or format as it does
    r"got 'type: \\\\?\"None\\\\?\"'"  # OpenAI's, of a schema without a type
    r"|\[\{'type': '\w+', 'loc': .*\}\]"  # OpenAI's, of the routes of audio
    r"|DownloadUrl\] Download fail: .*|best_of is None|n is None"  # MindIE's
)
_VALUES: tuple[JSON, ...] = (None, True, {}, ["a"], {"a": 1})
_DELETED = object()
_HEADERS = ("Authorization: Bearer a", "api-key: k", "Content-Type: application/json")


@pytest.mark.parametrize("vendor", VENDORS)
async def test_refusals_have_no_words_of_python(vendor: str, start: Start) -> None:
    running = await start("")
    found, refused = [], 0
    for target, headers, body in _list_bodies(vendor):
        head = "".join(f"{line}\r\n" for line in (target, *(headers or _HEADERS)))
        answer = await running.send(vendor, head.encode(), body)
        text = answer.body.decode("utf-8", "replace")
        assert answer.header("x-emulator-bug") is None, (target, body)
        refused += answer.status >= 400
        if answer.status >= 400 and _PYTHON.search(_OWN.sub("", text)):
            found.append((target, body, text))
    assert refused > 100
    assert found == []


def _list_bodies(vendor: str) -> Iterator[tuple[str, tuple[str, ...], bytes]]:
    """Yield each request with one member replaced; a member of a route is replaced in one seed alone."""
    done: set[tuple[str | int, ...]] = set()
    for method, target, headers, body in list_seeds(vendor):
        try:
            data = json.loads(body)
        except ValueError:
            continue
        if (whole := (method, target)) not in done:
            done.add(whole)
            yield from ((f"{method} {target} HTTP/1.1", headers, dump_json(value)) for value in (*_VALUES, 1, "a", []))
        for path in _list_paths(data):
            place = (target.partition("?")[0], *[name if isinstance(name, str) else 0 for name in path])
            if place in done:
                continue
            done.add(place)
            for value in (_DELETED, *_VALUES):
                yield f"{method} {target} HTTP/1.1", headers, json.dumps(_replace(data, path, value)).encode()


def _list_paths(value: JSON, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if len(path) < 6 and isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else [*enumerate(value)][:2]:
            yield from _list_paths(member, (*path, name))


def _replace(value: JSON, path: tuple[str | int, ...], new: object) -> JSON:
    changed = holder = copy.deepcopy(value)
    for name in path[:-1]:
        holder = holder[name]
    if new is _DELETED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return changed
