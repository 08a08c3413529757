"""Every block of README and docs is run here or by a named test; every link has a target."""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator import start
from emulator.cli import main
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.test_pytest_plugin import suite
from tests.tools.docs import control
from tests.tools.docs.blocks import PAGES, ROOT, RUN_BY, SHOWN, find_blocks

pytestmark = pytest.mark.slow

__all__ = ["suite"]  # a fixture

DOCS = ROOT / "docs"


def blocks(page: Path, language: str) -> list[str]:
    return [block.text for block in find_blocks() if (block.page, block.language) == (page.name, language)]


def test_every_block_has_one_runner_or_reason() -> None:
    for block in find_blocks():
        runs = [
            runner
            for page, language, begins, runner in RUN_BY
            if (block.page, block.language) == (page, language) and block.begins.startswith(begins)
        ]
        shown = [why for (page, begins), why in SHOWN.items() if block.page == page and block.begins.startswith(begins)]
        assert len(runs) + len(shown) == 1, f"{block.page}: {block.begins}"


def test_every_block_runner_exists() -> None:
    for _, _, _, runner in RUN_BY:
        file, _, name = runner.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), runner


def test_every_listed_block_exists() -> None:
    found = find_blocks()
    wanted = [(page, begins) for page, _, begins, _ in RUN_BY] + [*SHOWN]
    assert [row for row in wanted if not any(b.page == row[0] and b.begins.startswith(row[1]) for b in found)] == []


SCENARIOS = [
    pytest.param(block, id=f"{name} {number}")
    for name in ("scenarios.md", "azure.md", "mindie.md", "openvino.md", "tgi.md")
    for number, block in enumerate(blocks(DOCS / name, "yaml"))
]


@pytest.mark.parametrize("block", SCENARIOS)
def test_documented_scenario_loads(block: str) -> None:
    assert create_application(load_text(block if "version:" in block else f"version: 1\n{block}")).apps


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "tutorial.md"], ids=["README", "tutorial"])
def test_first_scenarios_pass_a_strict_check(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(page, "yaml"):
        (tmp_path / "one.yaml").write_text(block, encoding="utf-8")
        assert main(["check", "--strict", str(tmp_path)]) == 0, capsys.readouterr().out


def test_documented_check_error_matches_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = (DOCS / "scenarios.md", ROOT / "README.md")
    (shown,) = {block.strip() for page in pages for block in blocks(page, "") if "unknown key" in block}
    file = tmp_path / "scenarios" / "slow.yaml"
    file.parent.mkdir()
    rules = "rules:\n  - name: one\n    error: {kind: internal}\n  - name: two\n    error:\n      kind: overloaded\n"
    file.write_text(f"version: 1\nname: slow\n\n\n\n{rules}      retry_afer: 2s\n", encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert "\n" in shown
    assert shown in capsys.readouterr().out.replace(f"{tmp_path}/", "")


def test_documented_verify_mismatch_matches_output() -> None:
    page = DOCS / "control.md"
    (asked,), (said,) = blocks(page, "json"), blocks(page, "")
    with start() as client:
        address = urlsplit(client.front)
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        for question in ("What should I know about rain?", "What should I know about rivers?"):
            body = {
                "model": "databricks-meta-llama-3-3-70b-instruct",
                "messages": [{"role": "user", "content": question}],
            }
            headers = {"authorization": "Bearer k", "x-emulator-session": "a"}
            connection.request("POST", "/databricks/serving-endpoints/chat/completions", json.dumps(body), headers)
            connection.getresponse().read()
        connection.request("POST", "/_emulator/verify", asked.replace('"2s"', '"20ms"'))
        answer = json.loads(connection.getresponse().read())["detail"]
        connection.close()
    first, second, *rest = said.replace("2 s.", "0.02 s.").splitlines()
    assert answer.splitlines()[:2] == [first, second]
    for line in rest:
        assert re.sub(r"#\d+", "#", line) in re.sub(r"#\d+", "#", answer)


def test_control_page_is_up_to_date() -> None:
    assert (DOCS / "control.md").read_text(encoding="utf-8") == control.render(), "python -m tests.tools.docs"


# The tutorial, step by step


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A running emulator, and the files that the tutorial saves in a folder of their own."""
    pytest.importorskip("openai")
    page = DOCS / "tutorial.md"
    ask, test = blocks(page, "python")
    (tmp_path / "rough.yaml").write_text(blocks(page, "yaml")[0], encoding="utf-8")
    (tmp_path / "test_ask.py").write_text(test, encoding="utf-8")
    with start() as client:
        aimed = ask.replace("http://127.0.0.1:4011", client.url("databricks", via="root"))
        (tmp_path / "ask.py").write_text(aimed, encoding="utf-8")
        yield {"folder": str(tmp_path), "front": client.front}


def run_block(block: str, at_work: dict[str, str]) -> list[tuple[int, str]]:
    """Run each line of a shell block with the running emulator's ports; return exit codes and output."""
    done = []
    for line in block.replace("http://127.0.0.1:4010", at_work["front"]).splitlines():
        line = re.sub(r"^emulator ", "python -m emulator ", line)
        line = re.sub(r"^python ", f"{sys.executable} ", line)
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(line, shell=True, cwd=at_work["folder"], env=environ, capture_output=True, text=True)
        done.append((ran.returncode, ran.stdout + ran.stderr))
    return done


def test_tutorial_steps_work(at_work: dict[str, str]) -> None:
    begin, first, look, rough, _ = blocks(DOCS / "tutorial.md", "sh")
    assert [line.split()[0] for line in begin.splitlines()] == ["pip", "emulator"]
    ((status, answer),) = run_block(first, at_work)
    assert (status, run_block(first, at_work)) == (0, [(0, answer)])
    ((_, listed),) = run_block(look, at_work)
    assert json.loads(listed)["total"] == 2
    schema, checked, put, asked = run_block(rough, at_work)
    assert [schema, checked, put, asked] == [(0, ""), (0, "0 errors, 0 warnings\n"), (0, ""), (0, answer)]
    assert (Path(at_work["folder"]) / "schema.json").stat().st_size > 1000
    assert json.loads((Path(at_work["folder"]) / "loaded.json").read_text(encoding="utf-8"))["name"] == "rough"
    (last,) = json.loads(run_block(look, at_work)[0][1])["requests"]
    assert (last["attempt"], last["status"]) == (4, 200)  # two before the scenario, and one that was refused
    run_block("python -c \"import ask; [ask.ask(question) for question in ('One?', 'Two?', 'Three?')]\"", at_work)
    calls = json.loads(run_block(look.replace("limit=1", "limit=6"), at_work)[0][1])["requests"]
    assert [call["status"] for call in calls] == [429, 200] * 3
    ((status, said),) = run_block("python -c \"import ask; ask.ask('What do rivers carry?')\"", at_work)
    assert status == 1
    assert "APIConnectionError" in said


def test_tutorial_tests_pass(suite: pytest.Pytester, at_work: dict[str, str]) -> None:
    for name in ("ask.py", "test_ask.py", "rough.yaml"):
        shutil.copy(Path(at_work["folder"]) / name, suite.path / name)
    arguments = ("-p", "emulator.pytest_plugin", "--strict-markers", "-p", "no:cacheprovider")
    suite.runpytest_subprocess(*arguments).assert_outcomes(passed=2)


# Links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name if page.parent == ROOT else f"docs/{page.name}")
def test_relative_links_resolve(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        target, _, heading = link.partition("#")
        if target.startswith("http"):
            continue
        file = page.parent / target if target else page
        assert file.exists(), link
        if heading and file.suffix == ".md":
            titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in slugs, link


OTHERS = {
    "servers": ["LLMock", "aimock", "MockServer", "llmposter", "llm-d-inference-sim", "fakellm", "stubllm"],
    "in the process": ["respx", "pytest-httpserver", "vcrpy", "pytest-mockllm", "LiteLLM"],
    "on the wire": ["llmentary", "Toxiproxy", "Prism", "WireMock", "Dev Proxy"],
}


def test_comparison_page_has_complete_row_for_every_tool() -> None:
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    row = r"^\| \[([\w -]+)\]\(\S+\) \d+\.[^|]* \| [^|]+ \| [^|]{20,} \| [^|]+ \| [^|]{7,} \|$"
    assert re.findall(row, text, re.MULTILINE) == [name for kind in OTHERS.values() for name in kind]
