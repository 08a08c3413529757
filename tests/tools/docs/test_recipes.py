"""Every block of the recipes, done."""

import os
import re
import shlex
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from emulator import start
from emulator.cli import main
from tests.test_pytest_plugin import suite

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
TIDES = "Tides come twice a day.\n"

__all__ = ["suite"]  # a fixture


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    """The scenarios of the page, each in a file of its name."""
    (tmp_path / "scenarios" / "answers").mkdir(parents=True)
    (tmp_path / "scenarios" / "answers" / "tides.md").write_text(TIDES, encoding="utf-8")
    for text in blocks("yaml"):
        (tmp_path / "scenarios" / f"{yaml.safe_load(text)['name']}.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "scenarios"


def test_each_of_fourteen_recipes_has_scenario_and_test() -> None:
    recipes = [section for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:] if "```sh" not in section]
    assert len(recipes) == 14
    for recipe in recipes:
        (scenario,), (source,) = blocks("yaml", recipe), blocks("python", recipe)
        assert f"scenarios/{yaml.safe_load(scenario)['name']}.yaml" in source
        assert "def test_" in source


@pytest.mark.covers("promises/first steps", "the recipes")
def test_recipe_tests_pass(suite: pytest.Pytester, scenarios: Path) -> None:
    pytest.importorskip("openai")
    scenarios.rename(suite.path / "scenarios")
    used = [block for block in blocks("python") if "import faiss" not in block or find_spec("faiss")]
    suite.makepyfile(test_recipes="\n\n".join(used))
    ran = suite.runpytest_subprocess("-p", "emulator.pytest_plugin", "--strict-markers", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed="".join(used).count("\ndef test_") + 1)  # one is run twice


def test_check_finds_no_mistakes(scenarios: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--strict", str(scenarios)]) == 0
    assert "warning" not in capsys.readouterr().out


def test_copied_requests_work(scenarios: Path) -> None:
    (script,) = blocks("sh")
    with start() as emulator:
        script = script.replace("http://127.0.0.1:4010", emulator.front)
        script = script.replace("http://127.0.0.1:4011", emulator.url("databricks"))
        statuses = []
        for line in script.splitlines():
            arguments = [*shlex.split(line), "-s", "-o", os.devnull, "-w", "%{http_code}"]
            ran = subprocess.run(arguments, cwd=scenarios.parent, capture_output=True, text=True, check=True)
            statuses.append(ran.stdout)
    assert statuses == ["200", "429", "200", "200"]
