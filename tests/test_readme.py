"""Examples of the README and of ``docs/``, run."""

import re
import shlex
import urllib.request
from dataclasses import fields
from pathlib import Path

import pytest

from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.settings import Settings, variable
from emulator.vendors import VENDORS
from tests.http_client import Running

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("vendors", "settings")}
NAMES = ("front", *VENDORS)


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def aim(text: str, live: Running) -> str:
    """The documented ports become those of the running emulator."""
    return re.sub(r"http://127\.0\.0\.1:401(\d)", lambda match: live.urls[NAMES[int(match[1])]], text)


def test_first_example_works(live: Running) -> None:
    line = next(block for block in blocks("") if block.startswith("curl "))
    arguments = shlex.split(aim(line, live))
    request = urllib.request.Request(arguments[1], arguments[arguments.index("-d") + 1].encode())
    name, _, value = arguments[arguments.index("-H") + 1].partition(": ")
    request.add_header(name, value)
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
        assert b'"object":"chat.completion"' in answer.read()


def test_powershell_sends_request_of_first_example() -> None:
    (typed,) = blocks("powershell")
    asked = shlex.split(next(block for block in blocks("") if block.startswith("curl ")))
    found = re.fullmatch(
        r"Invoke-RestMethod (\S+) -Method Post -Headers @{(\w+) = '(.+)'} -ContentType (\S+) -Body '([^']+)'\n", typed
    )
    assert found is not None
    url, name, value, kind, body = found.groups()
    assert [url, f"{name}: {value}", body] == [asked[1], asked[3], asked[5]]
    assert kind == "application/json"


@pytest.mark.parametrize("block", [*blocks(""), *blocks("sh")], ids=lambda block: block.split()[0])
def test_commands_of_readme_are_typed_alike_in_each_shell(block: str) -> None:
    assert "&&" not in block  # a mistake in Windows PowerShell 5.1


SHOWN = [*blocks("python"), *blocks("python", PAGES["vendors"])]
SCRIPTS = [block for block in SHOWN if "def test_" not in block]  # tests are in docs/testing.md, too


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.split()[1])
def test_every_python_example_prints_output(block: str, live: Running, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(block.split()[1].split(".")[0])
    exec(compile(aim(block, live), "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("block", [block for block in blocks("yaml") if "version: 1" in block], ids=["the tour"])
def test_every_scenario_is_served(block: str) -> None:
    assert create_application(load_text(block)).apps


def test_every_setting_is_listed() -> None:
    names = [f.name for f in fields(Settings) if f.name not in ("paths", "unknown")]
    missing = [name for name in names if f"`{variable(name)}`" not in PAGES["settings"]]
    assert not missing


def test_every_vendor_has_row_and_port() -> None:
    for position, name in enumerate(VENDORS, start=1):
        assert f"| `http://127.0.0.1:401{position}` | `/{name}` |" in README
