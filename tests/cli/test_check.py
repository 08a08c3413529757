"""``emulator check``: rows, as text, as JSON and as annotations."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.scenario.codes import CODES

GOOD = "version: 1\nrules: [{name: a, when: {vendor: databricks}, error: {kind: timeout}}]\n"
BAD = "version: 1\nrules: [{name: a, retry: 1, pass: true}]\n"
ODD = "version: 1\nrules: [{name: a, when: {vendor: nobody}, pass: true}]\n"


@pytest.mark.covers("language/commands", "check")
@pytest.mark.parametrize(
    ("text", "code", "rows"),
    [
        pytest.param(GOOD, 0, [], id="no finding"),
        pytest.param(BAD, 1, [("error", 2, 19, "rules[0].retry")], id="a mistake"),
        pytest.param(ODD, 0, [("warning", 2, 34, "rules[0].when.vendor")], id="a warning"),
        pytest.param(
            "version: 1\nvendors: {tgi: {}, x: {}}\n", 1, [("error", 2, 20, "vendors.x")], id="no such vendor"
        ),
        pytest.param(
            "version: 1\nvendors: {azur: {}, tgi: 5, mindie: {profil: strict}}\nseed: x\n"
            "deployments: [{vendor: azure, name: a}, {vendor: tgl, name: b}]\n",
            1,
            [
                ("error", 2, 11, "vendors.azur"),
                ("error", 2, 26, "vendors.tgi"),
                ("error", 2, 38, "vendors.mindie.profil"),
                ("error", 3, 7, "seed"),
                ("error", 4, 50, "deployments[1].vendor"),
            ],
            id="the language's mistakes and the vendors' at once",
        ),
    ],
)
def test_check_prints_rows_and_sets_exit_code(
    scenario: Callable[[str], str],
    text: str,
    code: int,
    rows: list[tuple[str, int, int, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = scenario(text)
    assert main(["check", path, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert [(row["severity"], row["line"], row["column"], row["path"]) for row in found] == rows
    assert main(["check", path]) == code
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  ")]
    assert len(lines) == len(rows)
    assert all(line.startswith(f"{path}:{row[1]}:{row[2]}: {row[3]}: ") for line, row in zip(lines, rows, strict=True))


@pytest.mark.covers("promises/first steps", "each file by itself")
def test_check_reads_files_separately_and_expands_folders(
    tmp_path: Path, scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [scenario(BAD), scenario(GOOD), scenario(BAD), scenario(ODD)]
    for arguments in ([str(tmp_path)], paths, [paths[0], str(tmp_path)]):
        assert main(["check", *arguments, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert [row["file"] for row in found] == [paths[0], paths[2], paths[3]]


@pytest.mark.covers("promises/first steps", "files joined")
def test_check_joins_files_on_demand(scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    paths = [scenario(GOOD), scenario(GOOD)]
    assert main(["check", *paths]) == 0
    assert main(["check", "--join", *paths]) == 1
    assert (
        f"{paths[1]}:2:16: rules[0].name: the name is taken by the rule at {paths[0]}:2:16" in capsys.readouterr().out
    )


@pytest.mark.covers("promises/first steps", "a strict check")
@pytest.mark.parametrize(
    ("text", "code", "total"),
    [
        pytest.param(GOOD, 0, "0 errors, 0 warnings", id="no finding"),
        pytest.param(ODD, 1, "0 errors, 1 warning", id="a warning"),
        pytest.param(BAD, 1, "1 error, 0 warnings", id="a mistake"),
    ],
)
def test_strict_check_fails_on_warning(
    scenario: Callable[[str], str], text: str, code: int, total: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--strict", scenario(text)]) == code
    assert capsys.readouterr().err == f"{total}\n"


@pytest.mark.covers("promises/first steps", "warnings beside errors")
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param(
            "rules: [{name: a, retry: 1, pass: true}, {name: b, when: {vendor: nobody}, pass: true}]",
            ["error rules[0].retry", "warning rules[1].when.vendor"],
            id="a rule after one with a mistake",
        ),
        pytest.param(
            "seed: x\nlimits: [{unit: token, amount: 1, window: 1s}]\n"
            "rules: [{name: a, when: {principal: p}, pass: true}, {name: b, when: {deployment: zz}, pass: true}]\n"
            "keys: [{token: t, principal: q}]",
            [
                "error seed",
                "error limits[0].unit",
                "warning rules[0].when.principal",
                "warning rules[1].when.deployment",
            ],
            id="sections of all kinds",
        ),
        pytest.param(
            "keys: [{tokn: t, principal: p}]\nrules: [{name: a, when: {principal: p}, pass: true}]",
            ["error keys[0].tokn", "error keys[0].token"],
            id="keys that cannot be read have no effect",
        ),
        pytest.param(
            "deployments: [{vendor: tgi, nam: zz}]\nrules: [{name: a, when: {deployment: zz}, pass: true}]",
            ["error deployments[0].nam", "error deployments[0].name"],
            id="nor by such deployments",
        ),
        pytest.param(
            "vendors: {azure: {profil: maas}}\nrules: [{name: a, when: {task: zz}, pass: true}]",
            ["error vendors.azure.profil", "warning rules[0].when.task"],
            id="a mistake in a vendor's section",
        ),
        pytest.param("rules: [", ["error "], id="no YAML"),
        pytest.param(
            "rules: [{name: a, when: {endpoint: /v1/chat/completion}, pass: true}]",
            ["warning rules[0].when.endpoint"],
            id="an endpoint no vendor has",
        ),
    ],
)
def test_check_reports_warnings_with_errors(
    scenario: Callable[[str], str], text: str, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--json", scenario(f"version: 1\n{text}\n")])
    found = json.loads(capsys.readouterr().out)
    assert sorted(f"{row['severity']} {row['path']}" for row in found) == sorted(rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["{folder}"], "{folder} is a folder without scenarios", id="an empty folder"),
        pytest.param(["--join", "{folder}"], "--join takes files; in the folder {folder} each file", id="a library"),
        pytest.param(["{folder}/none.yaml"], "cannot read {folder}/none.yaml: no such file", id="no file"),
    ],
)
def test_check_usage_error_prints_one_line_and_exits_2(
    tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *(argument.format(folder=tmp_path) for argument in arguments)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"emulator: error: {says.format(folder=tmp_path)}")
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_check_annotates_pull_requests(
    scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = scenario(BAD)
    assert main(["check", path]) == 1
    assert f"::error file={path},line=2,col=19::rules[0].retry: unknown key" in capsys.readouterr().out
    main(["check", path, "--json"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert "::error" in printed.err


def runner_reads(lines: list[str]) -> list[str]:
    """Return the lines in which a runner looks for commands."""
    read, word = [], ""
    for line in lines:
        if word:
            word = "" if line.strip() == f"::{word}::" else word
        elif line.startswith("::stop-commands::"):
            word = line.removeprefix("::stop-commands::")
            assert len(word) == 32
        else:
            read.append(line)
    assert not word
    return read


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["rows", "json"])
def test_scenario_names_issue_no_workflow_commands(
    tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.chdir(tmp_path)
    for name in ("::stop-commands::x.yaml", "##[stop-commands]y.yaml", "plain.yaml"):
        (tmp_path / name).write_text('version: 1\n"##[stop-commands]z": 1\n"::stop-commands::z": 1\n', encoding="utf-8")
    assert main(["check", ".", *flags]) == 1
    printed = capsys.readouterr()
    read = runner_reads([*printed.out.splitlines(), *printed.err.splitlines()])
    assert sum(line.startswith("::error file=") for line in read) == 6
    assert [line for line in read if line.startswith("::") and not line.startswith("::error file=")] == []
    assert [line for line in read if "##[" in line] == []
    if flags:
        paths = {row["path"] for row in json.loads(printed.out)}
        assert paths == {"##[stop-commands]z", "::stop-commands::z"}


@pytest.mark.parametrize(
    "arguments",
    [["check", "##[stop-commands]x.yaml"], ["check", "a", "--##[stop-commands]x"], ["models", "a\n::stop-commands::x"]],
    ids=["no file", "no flag", "no vendor"],
)
def test_usage_errors_issue_no_workflow_commands(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(arguments))
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("emulator")
    assert "##[" not in said


FRAMED = """version: 1
rules:
  - name: a
    when: {vendr: azure, deployment: "x"}
    error: {kind: busy}
  - {name: b, when: {header.authorization: 5}, pass: true}
keys: [{tokn: hush, principal: p}]
"""


def test_check_shows_the_line_and_marks_the_place(
    scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(FRAMED)
    assert main(["check", path]) == 1
    out = capsys.readouterr().out
    assert f"{path}:4:12: rules[0].when.vendr: unknown key; did you mean vendor? [EM002]\n" in out
    assert ('  3 │   - name: a\n  4 │     when: {vendr: azure, deployment: "x"}\n    │            ^^^^^\n') in out
    assert "    │                   ^^^^\n" in out
    assert "hush" not in out
    assert "authorization: 5" not in out


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("times: {first: 1}", ["EM030"], id="a note"),
        pytest.param("times: {first: 1} # emulator: ignore EM030", [], id="hidden"),
        pytest.param("times: {first: 1} # why. emulator: ignore EM030", ["EM030"], id="another comment"),
        pytest.param("times: {first: 1} # emulator: ignore EM010, EM030", [], id="several codes"),
        pytest.param("times: {probability: 2} # emulator: ignore EM014", [], id="a warning"),
        pytest.param("times: {probability: 2} # emulator: ignore EM030", ["EM014"], id="another code"),
        pytest.param("times: {first: 1} # emulator: ignore", ["EM019", "EM030"], id="no code"),
        pytest.param("times: {first: 1} # emulator: ignore EM999", ["EM019", "EM030"], id="an unknown code"),
        pytest.param("tims: {first: 1} # emulator: ignore EM002", ["EM002", "EM019"], id="an error"),
    ],
)
def test_comment_ignores_codes(
    scenario: Callable[[str], str], line: str, found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(f"version: 1\nrules:\n- name: a\n  error: {{kind: timeout}}\n  {line}\n")
    main(["check", "--json", path])
    rows = json.loads(capsys.readouterr().out)
    assert sorted(row["code"] for row in rows) == found
    assert {row["severity"] for row in rows if row["code"] == "EM030"} <= {"note"}


def test_notes_do_not_fail_a_strict_check(scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario("version: 1\nlimits: [{unit: requests, amount: 1, window: 1s}]\n")
    assert main(["check", "--strict", path]) == 0
    assert capsys.readouterr().err == "0 errors, 0 warnings, 1 note\n"


def test_shipped_scenarios_pass_a_strict_check() -> None:
    assert main(["check", "--strict", str(Path(__file__).parents[2] / "scenarios")]) == 0


def test_documentation_lists_the_codes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(EM\d+)` \| (.+?) \|", page, re.MULTILINE))
    assert rows == CODES


@pytest.mark.parametrize(
    ("given", "warns"),
    [
        pytest.param("limits", True, id="alone it is served as it is"),
        pytest.param("limits keys", False, id="a file beside it has keys"),
        pytest.param("keys limits", False, id="in any order"),
        pytest.param("limits wrong", False, id="the file with keys has a mistake elsewhere"),
        pytest.param("limits broken", False, id="the file with keys has a mistake in them"),
        pytest.param("limits plain", True, id="no file beside it has keys"),
        pytest.param("limits keys --join", False, id="joined"),
        pytest.param("limits plain --join", True, id="joined without keys"),
        pytest.param(".", True, id="in a folder each file is a scenario"),
    ],
)
def test_keys_of_another_file_tell_callers_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, warns: bool
) -> None:
    texts = {
        "limits": "limits: [{per: principal, unit: requests, amount: 1, window: 1s}]",
        "keys": "keys: [{token: k, principal: bob}]",
        "wrong": "keys: [{token: k, principal: bob}]\nseed: x",
        "broken": "keys: [{token: 1, principal: bob}]",
        "plain": "rules: [{name: a, when: {principal: default}, pass: true}]",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")
    paths = [str(tmp_path / f"{word}.yaml") if word in texts else word for word in given.split()]
    main(["check", "--json", *(str(tmp_path) if path == "." else path for path in paths)])
    codes = [row["code"] for row in json.loads(capsys.readouterr().out)]
    assert ("EM018" in codes) is warns
