"""The journal as HAR, as a vcrpy cassette and as exchanges."""

import http.client
import json
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from emulator import start
from emulator.cli import main
from emulator.imports.cassettes import read_cassette
from emulator.recording.exchange import parse_exchanges
from tests.client.app import MODEL, PATH, ask
from tests.untyped_json import JSON

FAULT: JSON = {"name": "cut", "when": {"prompt": "cut"}, "faults": [{"type": "truncate", "after_tokens": 2}]}


@pytest.mark.covers("language/commands", "export")
def test_journal_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with start(rules=[FAULT]) as emulator:
        url = emulator.url("databricks")
        assert ask(url, max_tokens=5) == ask(url, "cut", stream=True) == ask(url, stream=True, max_tokens=3) == 200
        assert ask(url, "wrong", max_tokens=-1) == 400
        printed = {}
        for form in ("har", "vcr", "exchanges"):
            assert main(["export", "--url", emulator.front, "--format", form]) == 0
            printed[form] = capsys.readouterr().out
        bodies = [entry.response.body for entry in emulator.requests(limit=10)]
    entries = json.loads(printed["har"])["log"]["entries"]
    assert [(each["_vendor"], each["response"]["status"]) for each in entries] == [
        ("databricks", s) for s in (200, 200, 200, 400)
    ]
    assert "dapi-app" not in "".join(printed.values())
    exchanges = parse_exchanges(printed["exchanges"])
    assert [each.target for each in exchanges] == [PATH] * 4
    assert json.loads(exchanges[0].request_body)["model"] == MODEL
    assert exchanges[2].body.endswith(b"data: [DONE]\n\n")
    assert json.loads(exchanges[0].body) == bodies[0]
    assert [each["request"]["url"] for each in entries] == [url + PATH] * 4
    assert read_cassette(yaml.safe_load(printed["vcr"]), "x", "").exchanges[3].status == 400


def test_endings_are_exported(capsys: pytest.CaptureFixture[str]) -> None:
    lost: JSON = {"name": "lost", "when": {"prompt": "lost"}, "faults": [{"type": "disconnect", "after_tokens": 2}]}
    with start(rules=[lost, FAULT]) as emulator:
        url = emulator.url("databricks")
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(url, "lost", stream=True)
        assert ask(url, stream=True, max_tokens=3) == ask(url, "cut", stream=True) == 200
        said = {}
        for form in ("exchanges", "vcr"):
            assert main(["export", "--url", emulator.front, "--format", form]) == 0
            said[form] = capsys.readouterr()
    assert [each.ending for each in parse_exchanges(said["exchanges"].out)] == ["reset", "whole", "whole"]
    assert "vcrpy keeps no endings: 1 responses" in said["vcr"].err


def test_cassette_answers_the_client_that_made_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vcr = pytest.importorskip("vcr", reason="vcrpy is not installed")

    def send(text: str, stream: bool) -> tuple[int, bytes]:
        body = {"model": MODEL, "messages": [{"role": "user", "content": text}], "stream": stream, "max_tokens": 3}
        connection, path = http.client.HTTPConnection(urlsplit(url).netloc), urlsplit(url).path + PATH
        connection.request("POST", path, json.dumps(body), {"Authorization": "Bearer dapi-app"})
        with closing(connection), connection.getresponse() as response:
            return response.status, response.read()

    with start(rules=[{"name": "busy", "when": {"prompt": "busy"}, "error": {"kind": "rate_limited"}}]) as emulator:
        url = f"{emulator.front}/databricks"
        seen = [send("Rivers?", False), send("Tides?", True), send("busy", False)]
        assert main(["export", "--url", emulator.front, "--format", "vcr"]) == 0
    (tmp_path / "calls.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    matches = ("method", "scheme", "host", "port", "path", "query", "body")
    with vcr.VCR(match_on=matches).use_cassette(str(tmp_path / "calls.yaml"), record_mode="none"):
        assert [send("Rivers?", False), send("Tides?", True), send("busy", False)] == seen


def test_export_of_nothing_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--url", "http://127.0.0.1:1"]) == 1
    assert "no export: " in capsys.readouterr().err
