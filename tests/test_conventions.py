"""Conventions of the code: short functions, few ``Any``, no import cycles, one place for each name."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "emulator"
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FUNCTION = 40  # lines
MOST_ANY = 25  # uses of Any, each where a third party forces it
MOST_CASTS = 4
VENDORS = sorted(path for path in (ROOT / "vendors").iterdir() if (path / "routes.py").is_file())


def name_of(path: Path) -> str:
    """``emulator/core/plan.py`` → ``emulator.core.plan``."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
_DEFINITION = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_functions_are_short() -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert not long


_FILE = re.compile(r"``([\w/]+\.py)``")
_REFERENCE = re.compile(r":(?:func|class|meth|data|mod|attr):`~?([\w.]+)`")
_ATTRIBUTES = {
    node.name if isinstance(node, _DEFINITION) else node.attr if isinstance(node, ast.Attribute) else node.id
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, (*_DEFINITION, ast.Attribute, ast.Name))
}


def find_stale_names(docstring: str) -> list[str]:
    """Files and members that a docstring names and that are none of ours; sources name files of others."""
    own = " ".join(re.split(r"\bSources?\b", part)[0] for part in docstring.split("\n\n"))
    files = [name for name in _FILE.findall(own) if not any(str(path).endswith(f"/{name}") for path in FILES)]
    members = [name for name in _REFERENCE.findall(docstring) if name not in TREES]
    return files + [name for name in members if name.rpartition(".")[2] not in _ATTRIBUTES]


def test_docstrings_name_what_exists() -> None:
    stale = [
        f"{name}: {missing}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, *_DEFINITION))
        for missing in find_stale_names(ast.get_docstring(node) or "")
    ]
    assert not stale, "\n".join(stale)


def test_find_stale_names_finds_renamed_module() -> None:
    text = (
        "``plan.py`` and :class:`emulator.core.plan.Plan`, once ``world.py`` and :func:`pour_out`.\n\nSource: ``x.py``."
    )
    assert find_stale_names(text) == ["world.py", "pour_out"]


_LISTED = re.compile(r"^(?:Fields|Args):\n((?:    .*(?:\n|$))+)", re.MULTILINE)
_ENTRY = re.compile(r"^    ([a-z_][\w, ]*): ", re.MULTILINE)


def find_unknown_entries(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names under ``Fields`` or ``Args`` of a docstring that the class or function does not have."""
    parts = "".join(_LISTED.findall(ast.get_docstring(node) or ""))
    if not parts:
        return []
    own = {
        name
        for inner in ast.walk(node)
        for name in (getattr(inner, kind, None) for kind in ("arg", "attr", "id", "name"))
    }
    names = [name for entry in _ENTRY.findall(parts) for name in entry.split(", ")]
    return [name for name in names if name not in own and f"_{name}" not in own]


def test_docstrings_list_fields_that_exist() -> None:
    unknown = [
        f"{name}:{node.lineno} {entry}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, _DEFINITION)
        for entry in find_unknown_entries(node)
    ]
    assert not unknown, "\n".join(unknown)


def test_find_unknown_entries_finds_renamed_field() -> None:
    (node,) = ast.parse(
        'class Codec:\n    """Codec.\n\n    Fields:\n        items: a.\n        old: b.\n    """\n    items: int'
    ).body
    assert isinstance(node, ast.ClassDef)
    assert find_unknown_entries(node) == ["old"]


@pytest.mark.parametrize(("word", "most"), [("Any", MOST_ANY), ("cast", MOST_CASTS)])
def test_any_and_cast_uses_are_limited(word: str, most: int) -> None:
    uses = [
        f"{name}:{node.lineno}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == word
    ]
    assert len(uses) <= most, "\n".join(uses)


def imports_of(name: str, tree: ast.AST) -> set[str]:
    """Modules of ours that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = members & TREES.keys()
            found |= modules
            if len(modules) < len(members):
                found.add(node.module)
    return {module for module in found if module in TREES and module != name}


def test_modules_have_no_import_cycle() -> None:
    modules = {name: imports_of(name, tree) for name, tree in TREES.items() if name != "emulator"}
    TopologicalSorter(modules).prepare()  # names the cycle; the root imports nothing before it is called


def find_bare_refusals(tree: ast.AST) -> list[int]:
    """Lines where a refusal is made and neither raised nor handed on: the call would be accepted in silence."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and "refusal" in ast.unparse(node.value.func)
    ]


def test_refusals_are_raised() -> None:
    bare = [f"{name}:{line}" for name, tree in TREES.items() for line in find_bare_refusals(tree)]
    assert not bare


def test_find_bare_refusals_finds_unraised_refusal() -> None:
    source = "raise refusal('a')\nrefusal('b')\nrefusals.not_json('c')\nreturn_(refusal('d'))\n"
    assert find_bare_refusals(ast.parse(source)) == [2, 3]


# Names of members in the answers of vendors; each vendor declares where they lie.
_VENDOR_FIELDS = re.compile(r"usage|finish_reason|stop_reason|generated_text|completion_tokens|generated_tokens")
_OF_THE_LANGUAGE = {"emulator.faults.drop", "emulator.faults.position", "emulator.faults.wrong_usage"}


def test_faults_name_no_vendor_fields() -> None:
    named = [
        f"{name}:{node.lineno} {node.value}"
        for name, tree in TREES.items()
        if name.startswith("emulator.faults.") and name not in _OF_THE_LANGUAGE
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _VENDOR_FIELDS.fullmatch(node.value)
    ]
    assert not named


def files_with(pattern: str) -> set[str]:
    """Files of the product, below ``emulator/``, with a word in them."""
    paths = (path for path in FILES if re.search(pattern, path.read_text(encoding="utf-8")))
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        pytest.param(r"\bReorder\b|\breorder\b", {"faults/reorder.py", "faults/__init__.py"}, id="a fault"),
        pytest.param(r"\bPareto\b|\bpareto\b", {"latency/distributions.py", "fit/estimate.py"}, id="a latency type"),
        pytest.param(r"\bopen_memory\b", {"storage/memory.py", "storage/__init__.py"}, id="a store"),
    ],
)
def test_registered_names_appear_in_few_files(pattern: str, files: set[str]) -> None:
    assert files_with(pattern) == files


def test_vendor_is_named_in_one_file_outside_its_folder() -> None:
    """And among the aliases of other tools and the hosts of their recordings, where an entry is optional."""
    named = files_with(r"\bopenvino\b") - {"scenario/errors.py", "imports/vendors.py"}
    assert {name for name in named if not name.startswith("vendors/openvino/")} == {"vendors/__init__.py"}


def test_vendor_paths_in_contributing_guide_exist() -> None:
    text = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    header, _, *rows = [line for line in text[text.index("| to find |") :].split("\n\n")[0].splitlines()]
    vendors = [cell.strip() for cell in header.strip("|").split("|")][1:]
    assert sorted(vendors) == [path.name for path in VENDORS]
    for row in rows:
        for vendor, cell in zip(vendors, row.strip("|").split("|")[1:], strict=True):
            assert (ROOT / "vendors" / vendor / cell.strip().strip("`")).is_file(), row


def test_map_paths_in_contributing_guide_exist() -> None:
    text = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text[text.index("| you want to … |") :].split("\n\n")[0].splitlines()[2:]
    places = [place for row in rows for place in re.findall(r"`([a-z_]+(?:/[a-z_./]*|\.py))`", row.split("|")[2])]
    assert len(rows) >= 30
    assert not [place for place in places if not (ROOT / place).exists()]
