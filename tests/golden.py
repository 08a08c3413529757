"""Golden exchanges: one file holds a request and the whole answer, head and body.

The request is above the line of dashes: request line, headers, a blank line, body. Below it
is the answer; its head is shown with plain line ends, its body exactly, without chunk framing.
"""

import re
from pathlib import Path

import pytest

from emulator.core.redaction.bodies import redact_body
from tests.http_client import Answer, Running

_SEPARATOR = "\n" + "-" * 72 + "\n"
_PORT = re.compile(r"127\.0\.0\.1:\d+")


def golden_files(test_file: str) -> list[object]:
    """Return the parameters of a test: every ``golden/*.http`` of its folder."""
    folder = Path(test_file).parent / "golden"
    return [pytest.param(path, id=path.stem.replace("_", " ")) for path in sorted(folder.glob("*.http"))]


def read_request(path: Path) -> tuple[str, bytes]:
    """Request line and headers, one a line, and the body."""
    request = path.read_bytes().decode().partition(_SEPARATOR)[0]
    head, _, body = request.partition("\n\n")
    return head.strip("\n"), body.strip("\n").encode()


async def check_golden(running: Running, vendor: str, path: Path, *, update: bool) -> None:
    """Send the request of a file and compare the response with the one in the file."""
    request, _, expected = path.read_bytes().decode().partition(_SEPARATOR)
    head, body = read_request(path)
    lines = "".join(line + "\r\n" for line in head.split("\n"))
    answer = await running.send(vendor, lines.encode(), body)
    check_journal(running, answer)
    actual = answer.head.decode().replace("\r\n", "\n") + "\n\n" + answer.body.decode()
    actual = _PORT.sub("127.0.0.1:PORT", actual)
    if update and actual != expected:
        path.write_bytes((request + _SEPARATOR + actual).encode())
    else:
        assert actual == expected


def check_journal(running: Running, answer: Answer) -> None:
    """Compare the response of the journal's last entry, which may be made again, with the one that was sent."""
    entry = running.built.journal.list_calls()[-1].load()
    payload = entry.payload
    assert payload is not None
    if payload.body is not None:
        assert payload.body == redact_body(answer.body)
    lines = answer.head.decode().lower().split("\r\n")
    assert [*payload.headers] == [pair for pair in payload.headers if f"{pair[0]}: {pair[1]}".lower() in lines]
