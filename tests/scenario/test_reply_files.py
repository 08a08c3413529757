"""Tests of reply files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.scenario.load import load_scenario, load_text
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.reply_files import _find_spelling, _NoAnswerError, _require_spelling
from tests.scenario.texts import rows_of


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., list[str]]:
    """Return the reply texts of the first rule, or the mistakes, of a scenario in a folder with reply files."""
    folder = tmp_path / "scenarios"
    (folder / "answers").mkdir(parents=True)
    (folder / "answers" / "tides.md").write_text("The moon.\nThe sun.\n", encoding="utf-8")
    (folder / "answers" / "bytes.bin").write_bytes(b"\xff\xfe")
    (folder / "answers" / "hello.txt").write_text("Hello,\n{promt}\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "loop.txt").symlink_to(folder / "pool.txt")
    (folder / "pool.txt").symlink_to(folder / "loop.txt")
    with (folder / "giant.txt").open("wb") as giant:
        giant.truncate(10 * 1024**3)  # a hole, which takes no space on the disk

    def read(*rules: str) -> list[str]:
        file = folder / "a.yaml"
        file.write_text("version: 1\nrules:\n" + "".join(f"- {{{rule}}}\n" for rule in rules), encoding="utf-8")
        try:
            scenario = load_scenario([file]).scenario
        except ScenarioError as error:
            return [str(row).removeprefix(f"{folder}/") for row in error.rows]
        replies = [step.reply for rule in scenario.rules for step in (rule, *(rule.sequence or ()))]
        return [reply.text or "" for reply in replies if reply is not None]

    return read


@pytest.mark.covers("language/keys of a reply", "file")
@pytest.mark.covers("promises/first steps", "an answer in a file")
def test_reply_file_drops_final_line_break(load: Callable[..., list[str]]) -> None:
    assert load("name: r, reply: {file: answers/tides.md}") == ["The moon.\nThe sun."]


def test_sequence_step_reads_reply_file(load: Callable[..., list[str]]) -> None:
    steps = "{reply: {text: Hi}}, {error: {kind: internal}}, {reply: {file: ./answers/../answers/tides.md}}"
    assert load(f"name: r, sequence: [{steps}]") == ["Hi", "The moon.\nThe sun."]


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        pytest.param("{file: answers/tide.md}", "there is no file answers/tide.md", id="missing"),
        pytest.param("{file: answers}", "there is no file answers", id="a folder"),
        pytest.param("{file: answers/bytes.bin}", "not UTF-8", id="not text"),
        pytest.param("{file: ../secret.txt}", "expected a file in the scenario's folder or below it", id="above"),
        pytest.param("{file: /etc/hostname}", "expected a file in the scenario's folder or below it", id="elsewhere"),
        pytest.param("{file: loop.txt}", "loop.txt leads nowhere", id="links that lead to each other"),
        pytest.param("{file: giant.txt}", "more than 16 MiB", id="a giant"),
        pytest.param("{file: link.txt}", "expected a file in the scenario's folder or below it", id="a way out"),
        pytest.param(f"{{file: {'a' * 300}}}", f"{'a' * 300}: file name too long", id="a name that is too long"),
        pytest.param('{file: "a\\0b"}', "no file has such a name", id="no name of a file"),
        pytest.param(
            "{file: answers/hello.txt, template: true}",
            "answers/hello.txt: unknown placeholder {promt} in line 2 of the text; did you mean {prompt}?",
            id="a mistake in it",
        ),
    ],
)
def test_invalid_reply_file_is_rejected(load: Callable[..., list[str]], reply: str, row: str) -> None:
    assert load("name: q, pass: true", f"name: r, reply: {reply}") == [f"a.yaml:4:27: rules[1].reply.file: {row}"]


def test_reply_file_mistakes_are_reported_with_others(load: Callable[..., list[str]]) -> None:
    rows = load("name: q, pas: true", "name: r, reply: {file: nothing.md}", "name: s, reply: {text: a, file: b}")
    assert [row.split(": ")[1] for row in rows] == [
        "rules[0].pas",
        "rules[1].reply.file",
        "rules[2].reply",
        "rules[2].reply.file",
    ]


def test_reply_files_resolve_relative_to_scenario(tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "answer.md").write_text(name, encoding="utf-8")
        paths.append(tmp_path / name / "a.yaml")
        paths[-1].write_text(f"version: 1\nrules: [{{name: {name}, reply: {{file: answer.md}}}}]", encoding="utf-8")
    rules = load_scenario(paths).scenario.rules
    assert [rule.reply.text for rule in rules if rule.reply is not None] == ["one", "two"]


def test_digest_changes_with_reply_file(tmp_path: Path) -> None:
    answer, file = tmp_path / "a.md", tmp_path / "a.yaml"
    file.write_text("version: 1\nrules: [{name: r, reply: {file: a.md}}]", encoding="utf-8")
    digests = set()
    for text in ("one", "two"):
        answer.write_text(text, encoding="utf-8")
        digests.add(load_scenario([file]).digest)
    assert len(digests) == 2


def test_scenario_sent_over_http_cannot_use_files() -> None:
    assert rows_of("version: 1\nrules: [{name: r, reply: {file: a.md}}]") == [
        "a.yaml:2:33: rules[0].reply.file: a scenario sent over HTTP has no folder of files; write the text itself"
    ]
    assert load_text("version: 1\nrules: [{name: r, reply: {text: a}}]").answers.texts == {}


def test_shared_reply_file_is_read_once(load: Callable[..., list[str]]) -> None:
    texts = load(*[f"name: r{number}, reply: {{file: answers/tides.md}}" for number in range(50)])
    assert len(texts) == 50
    assert len({id(text) for text in texts}) == 1


def test_total_reply_size_is_bounded(tmp_path: Path) -> None:
    rules = []
    for number in range(6):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * 12 * 1024**2)
        rules.append(f"- {{name: r{number}, reply: {{file: {number}.txt}}}}\n")
    file = tmp_path / "a.yaml"
    file.write_text("version: 1\nrules:\n" + "".join(rules), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        load_scenario([file])
    (row,) = refused.value.rows
    assert (row.path, row.message) == ("rules[5].reply.file", "with it the answers are more than 64 Mi characters")


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        pytest.param("answers/tides.md", "answers/tides.md", id="as it is written"),
        pytest.param("Answers/Tides.MD", "answers/tides.md", id="in other letters"),
        pytest.param("./answers/../answers/Tides.md", "./answers/../answers/tides.md", id="by the way of others"),
        pytest.param("answers/caf\u00e9.md", "answers/caf\u00e9.md", id="a letter that the folder has decomposed"),
        pytest.param("answers/Cafe\u0301.md", "answers/cafe\u0301.md", id="in other letters, decomposed"),
    ],
)
def test_find_spelling_follows_folders(tmp_path: Path, name: str, spelled: str) -> None:
    """Windows and macOS find a file in other letters, where Linux does not."""
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "tides.md").touch()
    (tmp_path / "answers" / "cafe\u0301.md").touch()
    assert _find_spelling(name, tmp_path) == spelled
    if spelled == name:
        _require_spelling(name, tmp_path)
    else:
        with pytest.raises(_NoAnswerError, match=f"on every system; write {spelled}"):
            _require_spelling(name, tmp_path)
