"""Tests of the page about SDKs: its tables are those of the data, and a client's outcomes can be had again."""

import re

import pytest

from emulator import start
from emulator.scenario.load import find_files, load_scenario
from emulator.verdicts.judge import RULE_NAMES
from tests.tools.sdks.clients import SDKS
from tests.tools.sdks.page import FILE, find_cell, read_data, render
from tests.tools.sdks.plays import OWN, PLAYS, SHIPPED
from tests.tools.sdks.run import judge, list_scenarios

OPENAI = {"openai", "AzureOpenAI", "databricks-openai", "langchain-openai"}
STREAMING = OPENAI | {"azure-ai-inference", "huggingface-hub", "anthropic", "litellm"}
OPENAI_NODE = {"openai (Node)", "AzureOpenAI (Node)"}
AZURE = {"azure-ai-inference", "@azure-rest/ai-inference"}
HUB, CHAIN = {"@huggingface/inference"}, {"@langchain/openai"}
NODE = OPENAI_NODE | HUB | CHAIN | {"@azure-rest/ai-inference", "@anthropic-ai/sdk", "ai"}
FINDINGS = {  # what the page says in words: who breaks which rule in which scenario
    ("long-wait", "honours_retry_after"): {"anthropic", "cohere", "ai"} | OPENAI_NODE,
    ("burst-outage", "honours_retry_after"): HUB | CHAIN,
    ("burst-outage", "jitter"): OPENAI | NODE - CHAIN | {"azure-ai-inference", "anthropic"},
    ("burst-outage", "attempts"): HUB,
    ("always-overloaded", "jitter"): {"azure-ai-inference", "ai"} | HUB,
    ("always-overloaded", "attempts"): {"databricks-sdk"} | HUB | CHAIN,
    ("always-throttled", "attempts"): {"databricks-sdk"} | CHAIN,
    **{(scenario, "attempts"): CHAIN for scenario in ("cut-answer", "ovms-graph-not-loaded", "server-error")},
    ("cut-answer", "no_retry_after_delivery"): OPENAI | CHAIN | {"anthropic", "ai"},
    ("cut-stream", "incomplete_stream_failed"): STREAMING | NODE - {"ai"},
    ("late-error", "incomplete_stream_failed"): AZURE,
    ("left-stream", "closes_within"): OPENAI - {"langchain-openai"} | {"anthropic", "litellm"} | HUB,
    ("never-answers", "deadline"): STREAMING | NODE | {"cohere"},
    ("stalled-stream", "deadline"): STREAMING | NODE,
    ("default", "reuses_connections"): (STREAMING | NODE) - {"anthropic"},
}
NAMED_ELSEWHERE = {"jitter", "backs_off"}  # of a named wait, in other scenarios too; growth of waits that are drawn
AT_ONCE = ["default", "content-filter", "late-error", "lost-connection", "cut-stream", "cut-answer", "refused-for-good"]
TIMED = {"backs_off", "jitter", "deadline"}


def test_tables_are_those_of_the_data() -> None:
    page = FILE.read_text(encoding="utf-8")
    assert render(read_data(), page) == page, "run: python -m tests.tools.sdks"


def test_every_client_has_each_scenario_that_it_can_meet() -> None:
    data = read_data()
    assert data.keys() == SDKS.keys()
    for name, row in data.items():
        assert row["scenarios"].keys() == list_scenarios(SDKS[name]).keys()
        for outcome in row["scenarios"].values():
            assert {breach["rule"] for breach in outcome["broken"]} == {
                rule for rule, kept in outcome["rules"].items() if not kept
            }
            assert outcome["rules"].keys() <= {*RULE_NAMES}


def test_page_says_in_words_who_breaks_what() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for client, row in read_data().items():
        for scenario, outcome in row["scenarios"].items():
            for rule, kept in outcome["rules"].items():
                if not kept:
                    found.setdefault((scenario, rule), set()).add(client)
    assert {key: who for key, who in found.items() if key in FINDINGS or key[1] not in NAMED_ELSEWHERE} == FINDINGS
    assert "databricks-sdk" in found["always-overloaded", "backs_off"]
    text = FILE.read_text(encoding="utf-8").partition("## SDKs and rules")[0]
    assert {scenario for scenario, _ in FINDINGS} <= {*re.findall(r"\[([a-z-]+)\]\(", text)}


def test_every_scenario_is_played() -> None:
    files = [*find_files(SHIPPED), *find_files(OWN)]
    assert {file.stem for file in files} == PLAYS.keys()
    for file in find_files(OWN):
        scenario = load_scenario([file]).scenario
        assert (scenario.name, scenario.description[-1]) == (file.stem, ".")


def test_cell_counts_scenarios() -> None:
    breach = {"rule": "attempts", "figures": {"attempts": 68.0, "allowed": 5.0}}
    rows = {
        "a": {"rules": {"attempts": True}, "broken": []},
        "b": {"rules": {"attempts": False}, "broken": [breach]},
        "c": {"rules": {}, "broken": []},
    }
    cells = [find_cell(rows, "attempts"), find_cell({"a": rows["a"]}, "attempts"), find_cell(rows, "hedges")]
    assert cells == ["**broken** 1 of 2: attempts 68, allowed 5", "kept 1", ""]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai", "openai (Node)"])
def test_outcomes_of_a_client_can_be_had_again(name: str) -> None:
    sdk, row = SDKS[name], read_data()[name]
    if sdk.release != row["release"]:
        pytest.skip(f"the page is of {name} {row['release']}; installed is {sdk.release or 'none'}")
    with start() as server:
        again = judge(server, sdk, AT_ONCE, 60.0)
    for name, outcome in again.items():
        before = row["scenarios"][name]
        assert outcome["calls"] == before["calls"], name
        assert {rule: kept for rule, kept in outcome["rules"].items() if rule not in TIMED} == {
            rule: kept for rule, kept in before["rules"].items() if rule not in TIMED
        }
        assert outcome["raised"] is not None
