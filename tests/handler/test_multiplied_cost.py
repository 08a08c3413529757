"""Bounds on work that a scenario and a call multiply together."""

import json
import logging

import pytest

from emulator.core.cost_limits import CallBounds
from emulator.scenario.placeholders import is_heavy
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.scenario.calls import build, vary

KEY = {"x-key": "k"}
REFUSED = 400  # the toy's status of every refusal; vendors send 500


@pytest.mark.parametrize(
    ("text", "prompt", "status"),
    [
        pytest.param("{prompt}" * 10, "a" * 100, 200, id="at the bound"),
        pytest.param("{prompt}" * 10 + "b", "a" * 100, REFUSED, id="beyond it"),
        pytest.param("{prompt}" * 6, "\u6f22" * 100, REFUSED, id="letters of two bytes"),
        pytest.param("{prompt}" * 3, "\U0001f642" * 100, REFUSED, id="letters of four bytes"),
        pytest.param("{prompt}" * 20_000, "word " * 2_400, REFUSED, id="far beyond it"),
        pytest.param("{body.prompt}" * 20_000, "word " * 2_400, REFUSED, id="bodies far beyond it"),
    ],
)
async def test_oversized_filled_template_is_refused(
    start: Start, text: str, prompt: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    most = 1000 if len(text) < 1000 else 1_000_000
    rule = {"name": "echo", "reply": {"text": text, "template": True}}
    running = await start(f"bounds: {{text: {most}B}}\nrules: [{json.dumps(rule)}]\n", vendors=[TOY])
    with caplog.at_level(logging.ERROR):
        answer = await running.ask("toy", "/chat", {"prompt": prompt, "max": 3}, headers=KEY)
    assert answer.status == status
    said = [record.message for record in caplog.records]
    line = f"the reply of rule 'echo' exceeds {most} bytes after its placeholders are filled in"
    assert said == ([] if status == 200 else [line])


@pytest.mark.parametrize(
    ("text", "size", "heavy"),
    [
        pytest.param("Of {prompt}, {prompt}", 20_000, False, id="a few placeholders"),
        pytest.param("{prompt}" * 2_000, 20_000, True, id="many, and a long prompt"),
        pytest.param("{uuid}" * 200_000, 10, True, id="a long text"),
    ],
)
def test_large_template_is_heavy(text: str, size: int, heavy: bool) -> None:
    facts = vary(build("toy"), body_bytes=size)
    assert is_heavy(text, facts) is heavy


def test_filled_byte_limit_follows_token_limit_or_setting() -> None:
    assert CallBounds().filled == 8 * CallBounds().tokens
    assert CallBounds.model_validate({"text": "1000B"}).filled == 1000
