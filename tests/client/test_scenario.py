"""Scenarios composed of files, texts, mappings and keys."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from emulator.client.request import Reply
from emulator.client.scenario import Source, compose, explain_refusal
from emulator.control.handlers.status import show_document
from emulator.control.models import MistakeRow, Problem, dump_model
from emulator.core.json import JSON, as_array, as_object
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.source import Document
from emulator.scenario.yaml_reader import parse_document


def compose_here(sources: Sequence[Source], keys: Mapping[str, JSON]) -> Document:
    """Run :func:`compose` with the responses of the control plane."""
    todo = compose(sources, keys)
    try:
        request = next(todo)
        while True:
            parsed = show_document(parse_document(request.body, ""))
            request = todo.send(Reply(200, dump_model(parsed).encode()))
    except StopIteration as end:
        document: Document = end.value
        return document


ONE = "version: 1\nname: one\nseed: 4\nrules:\n  - {name: a, pass: true}\n"
TWO = "rules:\n  - name: b\n    eror: {kind: timeout}\n"


@pytest.mark.covers("promises/clients", "load of files")
def test_sources_join_and_keywords_override(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    data = as_object(compose_here([tmp_path / "one.yaml", TWO], {"seed": 7, "rules": [{"name": "c"}]}).data)
    assert [as_object(rule)["name"] for rule in as_array(data["rules"])] == ["c", "a", "b"]
    assert (data["name"], data["seed"]) == ("one", 7)


def test_null_keywords_are_ignored() -> None:
    assert compose_here(["seed: 4"], {"seed": None}).data == {"version": 1, "name": "test", "seed": 4}


def test_conflicting_values_in_two_sources_raise() -> None:
    with pytest.raises(ScenarioError, match="seed: set twice, and differently"):
        compose_here([{"seed": 1}, {"seed": 2}], {})


def test_reply_files_are_inlined(tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text("Twice a {prompt}.\n")
    file = tmp_path / "one.yaml"
    file.write_text("rules:\n  - {name: a, reply: {file: tides.md, template: true}}\n")
    (rule,) = as_array(as_object(compose_here([file], {}).data)["rules"])
    assert as_object(rule)["reply"] == {"template": True, "text": "Twice a {prompt}."}
    (tmp_path / "tides.md").unlink()
    with pytest.raises(ScenarioError, match=r"one\.yaml:2:\d+: rules\[0\]\.reply\.file: there is no file tides\.md"):
        compose_here([file], {})


def test_missing_file_is_a_mistake_that_names_the_folder() -> None:
    with pytest.raises(
        ScenarioError, match=rf"^none\.yaml: no such file or directory; looked in {re.escape(str(Path.cwd()))}$"
    ):
        compose_here(["none.yaml"], {})


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("rules[2].eror", r"two\.yaml:3:5: rules\[0\]\.eror: unknown key"),
        ("rules[2].eror.kind.x", r"two\.yaml:3:12: rules\[0\]\.eror\.kind\.x: unknown key"),
        ("rules[1].name", r"one\.yaml:5:6: rules\[0\]\.name: unknown key"),
        ("rules[0].name", r"^rules\[0\]\.name: unknown key"),
        ("limits[0]", r"^limits\[0\]: unknown key"),
    ],
)
def test_mistake_is_reported_at_source_position(tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "two.yaml").write_text(TWO)
    document = compose_here([tmp_path / "one.yaml", tmp_path / "two.yaml"], {"rules": [{"name": "c"}]})
    row = MistakeRow(file="scenario", line=1, column=2, path=path, message="unknown key", suggestion=None)
    problem = Problem(title="", status=422, detail="", errors=[row])
    with pytest.raises(ScenarioError, match=said):
        raise explain_refusal(problem, document)
