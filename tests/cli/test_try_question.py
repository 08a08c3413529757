"""``emulator try``: the outcome of a question without a running emulator."""

from collections.abc import Callable

import pytest

from emulator.cli import main
from emulator.vendors import VENDORS

SCENARIO = """version: 1
keys: [{token: dapi-search, principal: search}]
rules:
  - {name: rivers, when: {prompt: {contains: rivers}}, faults: [{type: disconnect, after_tokens: 3}]}
  - {name: hang, when: {prompt: {contains: fog}}, faults: [{type: hang}]}
  - {name: stops, when: {prompt: {contains: mist}}, sequence: [{faults: [{type: hang, after_tokens: 2}]}]}
  - {name: busy, when: {prompt: {contains: tides}}, error: {kind: rate_limited, retry_after: 9s}}
  - {name: fixed, when: {prompt: {contains: rain}}, latency: {ttft: 2s}, reply: {text: "One.\\nTwo."}}
limits: [{unit: tokens, amount: 5000, window: 1m}]
"""


@pytest.mark.covers("language/commands", "try")
@pytest.mark.parametrize(
    ("arguments", "says", "never"),
    [
        pytest.param(["Do rivers end?", "--stream"], ["  stream  →  200", "disconnect", "▲ cut here"], [], id="cut"),
        pytest.param(
            ["What are tides?"], ["→  429 rate_limited", "'busy' matched.", "Retry-After: 9\n"], ["-ms"], id="refused"
        ),
        pytest.param(["fog?"], ["→  no response", "fault    hang", "until the client gives up"], [], id="a hang"),
        pytest.param(["mist?", "--stream"], ["→  200", "▲ cut here", "until the client"], [], id="a hang in a stream"),
        pytest.param(["rain?"], ["→  200", "One.\nTwo.", "TTFT     2.000 s", "✗ 'rivers'"], ["\\n"], id="a reply"),
        pytest.param(["hail?", "--vendor", "tgi"], ["tgi  ", "→  200", "The nearest is"], [], id="another vendor"),
        pytest.param(
            ["hail?", "--model", "databricks-gte-large-en"], ["databricks-gte-large-en"], ["model "], id="a model"
        ),
        pytest.param(
            ["hail?", "--vendor", "tgi", "--model", "gpt-9"], ["tgi has no 'gpt-9': "], [], id="no such model"
        ),
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


def test_try_asks_at_the_very_start_of_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "Hello", "--scenario", "burst-outage"]) == 0
    assert "→  503 overloaded" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("clock", "waits"),
    [
        pytest.param("real", ["Retry-After: 9"], id="real"),
        pytest.param("frozen", ["Retry-After: 9"], id="frozen"),
        pytest.param("{scale: 3}", ["Retry-After: 3"], id="faster"),
        pytest.param("instant", ["Retry-After: 0", "retry-after-ms: 1"], id="instant"),
    ],
)
def test_try_prints_waits_as_clock_of_scenario_announces_them(
    scenario: Callable[[str], str], clock: str, waits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["try", "What are tides?", scenario(f"{SCENARIO}clock: {clock}\n")]) == 0
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.split("\n")]
    assert [rest for name, *rest in filter(None, shown) if name == "wait"] == [[wait] for wait in waits]


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
