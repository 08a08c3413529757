"""Parsing of control-plane responses."""

import pytest

from emulator.client.request import EmulatorError, Reply
from emulator.control.models import ClockState, RequestEntry
from emulator.core.json import dump_json
from tests.journal.test_journal import make_entry


def test_response_of_other_release_raises_one_line_error() -> None:
    with pytest.raises(EmulatorError, match="are both of the same release") as refused:
        Reply(200, b'{"kind": "real", "scale": 1, "now": 0, "time": ""}').read(ClockState)
    assert str(refused.value).endswith("since_start: field required")
    assert "\n" not in str(refused.value)


def test_entry_without_traceparent_is_read() -> None:
    shown = RequestEntry.model_validate(make_entry("1")).model_dump()
    del shown["traceparent"]
    assert Reply(200, dump_json(shown)).read(RequestEntry).traceparent is None
