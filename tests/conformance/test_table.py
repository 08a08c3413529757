"""The table of clients lists exactly the tested operations, with the results of a run."""

import os
from pathlib import Path

import pytest

from tests.conformance.table import COMMAND, FILE, Outcomes, judge, list_rows, read_table

pytestmark = pytest.mark.slow

_BEFORE = """
| vendor | client | operation | verdict | tried with |
| --- | --- | --- | --- | --- |
| databricks | anthropic | message | yes | anthropic 1.0 |
| databricks | anthropic | something gone | yes | anthropic 1.0 |

- databricks, databricks-langchain, LangChain's standard tests of a chat model, `test_old`: it was so
- databricks, databricks-langchain, chat, `test_elsewhere`: it is so in the client's other file
- databricks, anthropic, message, `test_kept`: it is so
- databricks, anthropic, something gone, `test_gone`: it was so
"""


def test_committed_table_has_every_row() -> None:
    rows = read_table(FILE.read_text(encoding="utf-8"))
    listed = {row.key for row in list_rows().values()}
    assert set(rows) == listed, f"run {COMMAND} with the new file's name, and commit {FILE.name}"


def test_row_keys_are_unique() -> None:
    rows = list_rows()
    assert len({row.key for row in rows.values()}) == len(rows)


def test_judge_updates_rows_that_ran_and_keeps_others() -> None:
    outcomes = Outcomes()
    outcomes.found["test_databricks_anthropic::test_stop_sequences"] = {"a": "passed", "b": "failed", "c": "skipped"}
    outcomes.found["test_databricks_standard::TestChatDatabricks"] = {"a": "passed", "b": "known", "c": "skipped"}
    outcomes.found["test_databricks_genai::test_generate_content"] = {"a": "skipped"}
    page = judge(outcomes, _BEFORE)
    reported = {key: row.verdict for key, row in read_table(page).items()}
    assert reported["databricks", "anthropic", "message"] == "yes"
    assert reported["databricks", "anthropic", "stop sequences"] == "no"
    assert (
        reported["databricks", "databricks-langchain", "LangChain's standard tests of a chat model"]
        == "1 of 2; the rest below"
    )
    assert reported["databricks", "google-genai", "generate content"] == "not run"
    assert "something gone" not in page


def test_judge_attaches_reason_to_matching_row_only() -> None:
    row = "test_databricks_standard::TestChatDatabricks"
    outcomes = Outcomes()
    outcomes.found[row] = {"a": "passed", "b": "known"}
    outcomes.known[row, "test_new"] = "it is new"
    page = judge(outcomes, _BEFORE)
    assert page.partition("and why\n\n")[2].splitlines() == [
        "- databricks, anthropic, message, `test_kept`: it is so",
        "- databricks, databricks-langchain, LangChain's standard tests of a chat model, `test_new`: it is new",
        "- databricks, databricks-langchain, chat, `test_elsewhere`: it is so in the client's other file",
    ]
    assert judge(Outcomes(), page) == page, "what is not run stays"


@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped"])
def test_judge_keeps_reason_until_row_runs(outcome: str) -> None:
    outcomes = Outcomes()
    outcomes.found["test_databricks_anthropic::test_message"] = {"a": outcome}
    assert ("test_kept" in judge(outcomes, _BEFORE)) is (outcome == "skipped")


def test_node_client_version_is_read_from_package_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "openai" / "package.json"
    package.parent.mkdir()
    package.write_text('{"version": "9.8.7"}', encoding="utf-8")
    monkeypatch.setenv("NODE_PATH", os.pathsep.join([str(tmp_path / "nothing"), str(tmp_path)]))
    outcomes = Outcomes()
    outcomes.found["test_azure_node::test_openai_chat"] = {"a": "passed"}
    outcomes.found["test_azure_node::test_inference_chat"] = {"a": "passed"}
    table = read_table(judge(outcomes, ""))
    assert table["azure", "openai (Node)", "openai chat"].package == "openai (Node) 9.8.7"
    client = "@azure-rest/ai-inference (Node)"
    assert table["azure", client, "inference chat"].package == client, "what is not found has no version"


def test_parametrized_test_outcome_is_worst_of_variants() -> None:
    outcomes = Outcomes()
    said = {"[plain-True]": "passed", "[own port-True]": "skipped", "[key-False]": "failed", "[path-False]": "passed"}
    for name, outcome in said.items():
        node = f"tests/conformance/test_azure_node.py::test_a{name}"
        outcomes.pytest_runtest_logreport(_report(node, outcome))
    assert outcomes.found == {"test_azure_node::test_a": {"test_a[-True]": "passed", "test_a[-False]": "failed"}}


def _report(node: str, outcome: str) -> pytest.TestReport:
    return pytest.TestReport._from_json(
        {"nodeid": node, "location": ("", 0, ""), "keywords": {}, "outcome": outcome, "longrepr": None, "when": "call"}
    )
