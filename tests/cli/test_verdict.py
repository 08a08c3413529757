"""Tests of ``emulator verdict``."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from emulator.cli import main
from tests.cli.test_serve import serving


@pytest.mark.covers("language/commands", "verdict")
def test_verdict_exits_1_if_a_rule_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (_, urls):
        command = ["verdict", "--url", urls["front"], "--session", "a"]
        assert main(command) == 0
        shown, noted = capsys.readouterr()
        assert noted == "nothing was judged: session a has no calls\n"
        assert "not judged" in shown
        assert "output tokens  0 sent, 0 delivered, 0 wasted\n" in shown
        assert "cost           0.000000 USD\n" in shown
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urls["front"] + "/_s/a/openvino/v1/nothing")
            refused.value.close()
        assert main(command) == 1
        shown, noted = capsys.readouterr()
        assert "no_useless_retry: Call #2 repeats #1, which was refused with 400" in shown
        assert not noted
        assert main([*command, "--json"]) == 1
        assert [row["rule"] for row in json.loads(capsys.readouterr().out)["broken"]] == ["no_useless_retry"]
        assert main([*command[:3]]) == 0
        assert capsys.readouterr().err == "nothing was judged: there are no calls outside sessions; see --session\n"


def test_verdict_without_server_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", "--url", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.startswith("no verdict: ")
