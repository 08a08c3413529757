"""Tests of joined files and of libraries."""

from pathlib import Path

import pytest

from emulator.scenario.errors import Diagnostic
from emulator.scenario.load import find_bundled, find_files, load_library, load_paths, load_scenario, select
from emulator.scenario.models import BUILT_IN
from emulator.scenario.parsed import ScenarioError
from tests.scenario.texts import HEAD, write

# Several files


def test_lists_of_several_files_are_joined_in_order(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        b__yaml="version: 1\nseed: 7\nvendors: {tgi: false}\nrules: [{name: one, pass: true}]",
        a__yaml="version: 1\nvendors: {azure: {profile: maas}}\nrules: [{name: two, pass: true}]",
    )
    loaded = load_scenario(paths)
    assert [rule.name for rule in loaded.scenario.rules] == ["one", "two"]
    assert loaded.scenario.vendors == {"tgi": False, "azure": {"profile": "maas"}}
    assert (loaded.scenario.seed, loaded.scenario.name) == (7, "b+a")
    assert loaded.sources == tuple(paths)
    assert str(loaded.row(("rules", 1, "name"), "wrong")).startswith(f"{paths[1]}:3:16: ")


def test_equal_value_in_two_files_is_accepted(tmp_path: Path) -> None:
    paths = write(tmp_path, a__yaml="version: 1\nseed: 7", b__yaml="version: 1\nseed: 7")
    assert load_scenario(paths).scenario.seed == 7


@pytest.mark.parametrize(
    ("first", "second", "place", "path"),
    [
        pytest.param("seed: 7", "seed: 8", "2:7", "seed", id="a number"),
        pytest.param("vendors: {tgi: false}", "vendors: {tgi: {}}", "2:16", "vendors.tgi", id="off and on"),
        pytest.param(
            "latency: {ttft: {type: constant, value: 1s}}",
            "latency: {ttft: {type: constant, value: 2s}}",
            "2:41",
            "latency.ttft.value",
            id="a part of a latency",
        ),
    ],
)
def test_conflicting_values_are_rejected(tmp_path: Path, first: str, second: str, place: str, path: str) -> None:
    paths = write(tmp_path, a__yaml=HEAD + first, b__yaml=HEAD + second)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(paths)
    assert str(caught.value) == f"{paths[1]}:{place}: {path}: set twice, and differently at {paths[0]}:{place}"


def test_mistakes_of_all_files_are_reported_with_locations(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        z__yaml="version: 1\nrules:\n- {name: one, pass: true}\n- {name: two, pas: true, pass: true}",
        a__yaml="version: 1\nrules:\n- {name: one, pass: true}\n- {name: three, pass: 1}",
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(paths)
    assert str(caught.value).splitlines() == [
        f"{paths[0]}:4:15: rules[1].pas: unknown key; did you mean pass?",
        f"{paths[1]}:3:10: rules[0].name: the name is taken by the rule at {paths[0]}:3:10",
        f"{paths[1]}:4:23: rules[1].pass: expected true or false, got 1",
    ]


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file or directory"):
        load_scenario([tmp_path / "nowhere.yaml"])


# Libraries


def test_folder_loads_as_library(tmp_path: Path) -> None:
    write(
        tmp_path,
        slow__yaml="version: 1\nname: own-name",
        broken__emulator__yml="version: 1",
        schema__json="{}",
        notes__txt="not a scenario",
    )
    library = load_library(tmp_path)
    assert {name: loaded.scenario.name for name, loaded in library.items()} == {"broken": "broken", "slow": "own-name"}
    assert select(library, "slow") is select(library, "own-name") is library["slow"]


def test_library_reports_mistakes_of_all_files(tmp_path: Path) -> None:
    write(tmp_path, a__yaml="version: 2", b__yaml="version: 1", c__yaml="version: 3", b__yml="version: 1")
    with pytest.raises(ScenarioError) as caught:
        load_library(tmp_path)
    assert [Path(row.file).name for row in caught.value.rows] == ["a.yaml", "b.yml", "c.yaml"]


@pytest.mark.covers("promises/first steps", "a folder of one file", case="the only one")
@pytest.mark.parametrize(
    ("files", "name", "chosen"),
    [
        pytest.param({"a__yaml": HEAD}, None, "a", id="the only one"),
        pytest.param({"a__yaml": HEAD, "default__yaml": HEAD}, None, "default", id="a default"),
        pytest.param({"a__yaml": HEAD, "default__yaml": HEAD}, "a", "a", id="by name"),
    ],
)
def test_default_scenario_of_folder(tmp_path: Path, files: dict[str, str], name: str | None, chosen: str) -> None:
    write(tmp_path, **files)
    loaded, library = load_paths([tmp_path], name)
    assert loaded.scenario.name == chosen
    assert len(library) == len(files)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({}, "a folder without scenarios (*.yaml, *.yml)", id="an empty folder"),
        pytest.param({"notes__txt": "x"}, "a folder without scenarios (*.yaml, *.yml)", id="no scenario in it"),
        pytest.param(
            {"b__yaml": HEAD, "a__yaml": HEAD},
            "several scenarios and no default.yaml: a, b; choose one with --scenario NAME",
            id="several and no default",
        ),
    ],
)
def test_folder_without_default_is_rejected(tmp_path: Path, files: dict[str, str], says: str) -> None:
    write(tmp_path, **files)
    with pytest.raises(ScenarioError) as caught:
        load_paths([tmp_path])
    assert str(caught.value) == f"{tmp_path}: {says}"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(Path("nowhere"), id="not there"),
        pytest.param(Path("x" * 300), id="a name no file system has"),
    ],
)
def test_unreadable_path_is_rejected(tmp_path: Path, path: Path) -> None:
    for read in (load_paths, lambda paths: find_files(paths[0])):
        with pytest.raises(ScenarioError, match=r"nowhere: no such|xxx: file name too long"):
            read([tmp_path / path])


@pytest.mark.covers("promises/first steps", "a shipped scenario by its name")
def test_name_without_folder_selects_bundled_scenario() -> None:
    loaded, library = load_paths([], "throttled-tenant")
    assert loaded.scenario.name == "throttled-tenant"
    assert library.keys() == {path.stem for path in find_files(find_bundled())}
    assert len(library) > 10


def test_unknown_name_lists_scenarios(tmp_path: Path) -> None:
    write(tmp_path, a__yaml=HEAD, b__yaml=HEAD)
    with pytest.raises(ScenarioError, match=r"^zzz: no such scenario; there are a, b$"):
        load_paths([tmp_path], "zzz")


def test_unknown_name_suggests_nearest(tmp_path: Path) -> None:
    write(tmp_path, throttled__yaml=HEAD)
    with pytest.raises(ScenarioError, match=r"throtled: no such scenario; did you mean throttled\?"):
        load_paths([tmp_path], "throtled")


def test_no_paths_load_built_in_scenario() -> None:
    loaded, library = load_paths([])
    assert (loaded.scenario, library) == (BUILT_IN, {})
    assert loaded.row(("vendors", "tgi"), "unknown vendor") == Diagnostic(
        "built-in", 0, 0, "vendors.tgi", "unknown vendor"
    )


def test_several_files_load_as_one_scenario(tmp_path: Path) -> None:
    paths = write(tmp_path, a__yaml=HEAD, b__yaml=HEAD)
    loaded, library = load_paths(paths)
    assert loaded.scenario.name == "a+b"
    assert list(library) == ["a+b"]


def test_folder_with_other_paths_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="a folder is a library and stands alone"):
        load_paths([tmp_path, *write(tmp_path, a__yaml=HEAD)])


def test_files_of_folder_are_sorted_by_name(tmp_path: Path) -> None:
    """Paths of Windows would sort without regard to case."""
    names = ["B.yaml", "_first.yaml", "a.yaml"]
    for name in reversed(names):
        (tmp_path / name).touch()
    assert [path.name for path in find_files(tmp_path)] == names
