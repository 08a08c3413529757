"""``emulator check``: rows, as text, as JSON and as annotations."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main

GOOD = "version: 1\nrules: [{name: a, when: {vendor: databricks}, error: {kind: timeout}}]\n"
BAD = "version: 1\nrules: [{name: a, retry: 1, pass: true}]\n"
ODD = "version: 1\nrules: [{name: a, when: {vendor: nobody}, pass: true}]\n"


@pytest.mark.parametrize(
    ("text", "code", "rows"),
    [
        pytest.param(GOOD, 0, [], id="nothing to say"),
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
def test_check_gives_rows(
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
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows)
    assert all(line.startswith(f"{path}:{row[1]}:{row[2]}: {row[3]}: ") for line, row in zip(lines, rows, strict=True))


def test_check_takes_each_file_of_a_folder_by_itself(
    tmp_path: Path, scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [scenario(BAD), scenario(GOOD), scenario(BAD)]
    assert main(["check", str(tmp_path), "--json"]) == 1
    assert [row["file"] for row in json.loads(capsys.readouterr().out)] == [paths[0], paths[2]]


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
