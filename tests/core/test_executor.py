"""Work of control requests that runs in the worker thread."""

import threading

import pytest

from emulator.core.executor import run_parsing


@pytest.mark.parametrize(
    ("body", "aside"),
    [
        pytest.param(b"version: 1\nrules: []\n", False, id="a small scenario"),
        pytest.param(b'{"calls": {"prompt": "hi"}}', False, id="a small expectation"),
        pytest.param(b'{"calls": {"prompt": {"regex": "a"}}}', True, id="an expression, however short"),
        pytest.param(b'{"calls": {"prompt": {"rege\\u0078": "a"}}}', True, id="one with a key spelled in another way"),
        pytest.param(b"a: &a [b]\nc: [*a, *a]\n", True, id="aliases"),
        pytest.param(b" " * 20_000, True, id="a long one"),
    ],
)
async def test_slow_parsing_runs_in_another_thread(body: bytes, aside: bool) -> None:
    thread = await run_parsing(body, threading.get_ident)
    assert (thread != threading.get_ident()) is aside
