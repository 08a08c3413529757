"""Untrusted scenarios and requests cannot write control characters or commands to a terminal or log."""

import json
from pathlib import Path

import pytest

from emulator.cli import main

EVIL = "a\x1b[31mb\r\nFORGED\x00\x07\x7f\x85\x9b\u2028\u2029\u202ez"
SHOWN = "a\x85\x9b\u2028\u202ez"  # what a rule's name may have
RULE = {"name": SHOWN, "when": {"prompt": {"contains": "zap"}}, "reply": {"text": EVIL}}
WRONG = [{"name": SHOWN, f"wen{EVIL}": 1}, {"name": EVIL, "reply": 3, "when": {"prompt": {"regex": f"({EVIL}"}}}]
REQUEST = {
    "vendor": "azure",
    "path": "/openai/v1/chat/completions",
    "headers": {"x": EVIL},
    "body": {"model": f"m{EVIL}", "messages": [{"role": "user", "content": f"zip{EVIL}"}]},
}
SERVED = {"name": EVIL, "model": EVIL}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create files with terminal control characters, also in a name."""
    strange = tmp_path / "a\x1b[31m\nFORGED\u2028.yaml"
    strange.write_text(json.dumps({"version": 1, "name": EVIL, "rules": [RULE]}), encoding="utf-8")
    (tmp_path / "fine.yaml").write_text(
        json.dumps({"version": 1, "rules": [RULE], "deployments": [{"vendor": "azure", **SERVED}]}), encoding="utf-8"
    )
    (tmp_path / "wrong.yaml").write_text(json.dumps({"version": 1, "rules": WRONG, f"k{EVIL}": 1}), encoding="utf-8")
    (tmp_path / "request.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    (tmp_path / "no.json").write_text(json.dumps({**REQUEST, EVIL: 1}), encoding="utf-8")
    (tmp_path / "asks.json").write_text(json.dumps({**REQUEST, "headers": {f"x-emulator-{EVIL}": "1"}}), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["check", "wrong.yaml"], id="mistakes"),
        pytest.param(["check", ""], id="mistakes of a folder"),
        pytest.param(["check", "a\x1b[31m\nFORGED\u2028.yaml"], id="a file's name"),
        pytest.param(["check", f"{EVIL[:8]}.yaml"], id="a file that is not there"),
        pytest.param(["explain", "fine.yaml", "request.json"], id="an explanation"),
        pytest.param(["explain", "wrong.yaml", "request.json"], id="mistakes in place of one"),
        pytest.param(["explain", "fine.yaml", "no.json"], id="a request that is none"),
        pytest.param(["explain", "fine.yaml", "asks.json"], id="a header that is none"),
        pytest.param(["explain", "fine.yaml", f"{EVIL[:8]}.json"], id="a request that is not there"),
        pytest.param(["models", "azure", "fine.yaml"], id="a list of models"),
        pytest.param(["instance", "fine.yaml"], id="no schema"),
        pytest.param(["serve", "--port", "0", "wrong.yaml"], id="a server that does not begin"),
        pytest.param(["health", "--url", f"http://{EVIL}"], id="an address that is none"),
        pytest.param(["report", "--url", f"http://{EVIL}", "--out", "r.html"], id="a report from nowhere"),
    ],
)
@pytest.mark.parametrize("workflow", ["", "true"])
def test_output_is_printable_lines_without_injection(
    folder: Path, words: list[str], workflow: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITHUB_ACTIONS", workflow)
    paths = [str(folder / word) if word.endswith((".yaml", ".json")) or not word else word for word in words]
    assert main(paths) in (0, 1, 2)
    said = capsys.readouterr()
    lines = [*said.out.split("\n"), *said.err.split("\n")]
    assert any(lines)
    assert [line for line in lines if not line.isprintable()] == []
    assert not any(line.startswith("FORGED") for line in lines)
