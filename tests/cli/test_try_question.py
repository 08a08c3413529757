"""``emulator try``: the outcome of a question without a running emulator."""

from collections.abc import Callable

import pytest

from emulator.cli import main
from emulator.vendors import VENDORS

SCENARIO = """version: 1
keys: [{token: dapi-search, principal: search}]
rules:
  - {name: rivers, when: {prompt: {contains: rivers}}, faults: [{type: disconnect, after_tokens: 3}]}
  - {name: busy, when: {prompt: {contains: tides}}, error: {kind: rate_limited, retry_after: 9s}}
  - {name: fixed, when: {prompt: {contains: rain}}, latency: {ttft: 2s}, reply: {text: "One.\\nTwo."}}
limits: [{unit: tokens, amount: 5000, window: 1m}]
"""


@pytest.mark.covers("language/commands", "try")
@pytest.mark.parametrize(
    ("arguments", "says", "never"),
    [
        pytest.param(["Do rivers end?", "--stream"], ["  stream  →  200", "disconnect", "▲ cut here"], [], id="cut"),
        pytest.param(["What are tides?"], ["→  429 rate_limited", "'busy' matched."], [], id="refused"),
        pytest.param(["rain?"], ["→  200", "One.\nTwo.", "TTFT     2.000 s", "✗ 'rivers'"], ["\\n"], id="a reply"),
        pytest.param(["hail?", "--vendor", "tgi"], ["tgi  ", "→  200", "The nearest is"], [], id="another vendor"),
        pytest.param(["hail?", "--model", "databricks-gte-large-en"], ["databricks-gte-large-en"], [], id="a model"),
    ],
)
def test_try_prints_outcome_and_reason(
    scenario: Callable[[str], str],
    arguments: list[str],
    says: list[str],
    never: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["try", arguments[0], scenario(SCENARIO), *arguments[1:]]) == 0
    out = capsys.readouterr().out
    assert [text for text in says if text not in out] == []
    assert [text for text in never if text in out] == []


@pytest.mark.slow
@pytest.mark.parametrize("vendor", list(VENDORS))
def test_try_asks_every_vendor(vendor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "Hello", "--vendor", vendor]) == 0
    assert "→  200" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "code", "says"),
    [
        pytest.param("version: 1\nrulez: []\n", [], 1, "[EM002]", id="a mistake"),
        pytest.param("version: 1\nvendors: {tgi: false}\n", ["--vendor", "tgi"], 2, "not served", id="not served"),
    ],
)
def test_try_explains_what_it_cannot_do(
    scenario: Callable[[str], str],
    text: str,
    arguments: list[str],
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["try", "Hello", scenario(text), *arguments]) == code
    assert says in capsys.readouterr().err
