"""What the pages on testing show, done."""

import re
from pathlib import Path

import pytest

from emulator.client import EmulatorClient
from tests.test_pytest_plugin import suite

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRACES = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
SHOWN = [
    block
    for text in (PAGE, README, TRACES)
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
]

__all__ = ["suite"]  # a fixture


@pytest.mark.covers("promises/plugin", "an application's suite")
def test_example_suite_passes_without_fixtures(suite: pytest.Pytester) -> None:
    pytest.importorskip("openai")
    names = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert names == ["assistant.py", "test_assistant.py"]
    for name in names:
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        assert "fixture" not in re.sub('^""".*?"""', "", text)
        (suite.path / name).write_text(text, encoding="utf-8")
    tests = text.count("\ndef test_")
    suite.runpytest_inprocess("-p", "emulator.pytest_plugin", "--strict-markers").assert_outcomes(passed=tests)


def test_client_page_lists_every_method() -> None:
    named = re.findall(r"^\| ((?:`\w+\(.*?\)`(?:, )?)+) \|", PAGE, re.MULTILINE)
    methods = {method for cell in named for method in re.findall(r"`(\w+)\(", cell)}
    public = {name for name in vars(EmulatorClient) if not name.startswith("_")}
    assert methods == public


@pytest.mark.parametrize("block", [block for block in SHOWN if "emulator" in block])
def test_client_page_examples_pass(suite: pytest.Pytester, block: str) -> None:
    for name in re.findall(r"scenarios/[\w-]+\.yaml", block):
        (suite.path / "scenarios").mkdir(exist_ok=True)
        (suite.path / name).write_bytes((ROOT / name).read_bytes())
    if "def test_" not in block:
        block = "def test_it():\n" + "".join(f"    {line}\n" for line in block.splitlines())
    app = "from app import ask\nclass my_app:\n    ask = staticmethod(lambda url: [ask(url) for _ in range(3)])\n\n"
    suite.makepyfile(test_page=app + block)
    suite.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    arguments = ("-p", "emulator.pytest_plugin", "-p", "pytest_asyncio.plugin", "--strict-markers")
    suite.runpytest_inprocess(*arguments).assert_outcomes(passed=block.count("def test_"))
