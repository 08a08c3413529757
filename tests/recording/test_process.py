"""The process that writes exchanges."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.recording.exchange import RecordedWrite, load_folder
from emulator.recording.process import ProcessWriters
from emulator.recording.writer import LocalWriters, Writers
from tests.recording.test_replay import STREAM

pytestmark = pytest.mark.slow
SECRET = f"dapi{'0123456789abcdef' * 2}"
WORDS = [
    RecordedWrite(number / 10, b'data: {"t": "word %d"}\n\n' % number + b": " + b"." * 9000 + b"\n")
    for number in range(99)
]
SPLIT = [
    RecordedWrite(10.0, f'data: {{"t": "{SECRET[:9]}"}}\n\n'.encode()),
    RecordedWrite(11.0, f'data: {{"t": "{SECRET[9:]}"}}\n\n'.encode()),
]


def split(writes: Sequence[RecordedWrite]) -> tuple[list[float], list[bytes]]:
    return [write.offset for write in writes], [write.data for write in writes]


def write(writers: Writers, path: Path) -> str:
    """The file of a stream that arrives in parts, and what is counted."""
    writers.open(7, path / "0001-a.exchange", replace(STREAM, request_headers=(("api-key", SECRET),)), is_stream=True)
    for start in range(0, len(WORDS), 10):
        writers.add(7, *split(WORDS[start : start + 10]))
    writers.add(7, *split(SPLIT[:1]))
    done = writers.finish(7, replace(STREAM, ending="reset", ended=12.0, unkept=3), *split(SPLIT[1:]))
    assert (done.secrets, done.unkept, done.exposed) == (2, 3, ("response body",))
    return done.path.read_text(encoding="utf-8")


def test_process_writes_what_is_written_here(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    writers = ProcessWriters()
    try:
        text = write(writers, tmp_path / "process")
    finally:
        writers.close()
    assert text == write(LocalWriters(), tmp_path / "local")
    (exchange,) = load_folder(tmp_path / "process")
    assert (len(exchange.writes), exchange.ending) == (len(WORDS) + len(SPLIT), "reset")
    assert SECRET[9:] not in text


def test_file_that_cannot_be_written_is_an_error_of_its_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writers = ProcessWriters()
    try:
        writers.open(1, tmp_path / "file" / "0001-a.exchange", STREAM, is_stream=True)
        with pytest.raises(OSError, match=r"exists|directory"):
            writers.finish(1, STREAM)
        write(writers, tmp_path / "other")
    finally:
        writers.close()


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_end_of_the_process_is_an_error(tmp_path: Path) -> None:
    writers = ProcessWriters()
    os.kill(writers.process.pid, signal.SIGKILL)
    writers.process.wait()
    with pytest.raises(OSError, match="the process that writes the files has ended"):
        write(writers, tmp_path)
    writers.close()


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        pytest.param(['{"content": ""}', '{"content": "a"}', '{"token": {"text": "b"}}'], 2, id="events"),
        pytest.param(['{"text": "a"}', '{"usage": {"completion_tokens": 7}}'], 7, id="usage"),
    ],
)
def test_tokens_are_counted(events: list[str], tokens: int, tmp_path: Path) -> None:
    writers = LocalWriters()
    writers.open(1, tmp_path / "0001-a.exchange", STREAM, is_stream=True)
    writers.add(1, [0.0] * len(events), [f"data: {event}\n\n".encode() for event in events])
    assert writers.finish(1, STREAM).tokens == tokens
