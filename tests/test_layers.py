"""Allowed imports between the parts of the program, from the core outwards."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "emulator"

_GENERATING = frozenset({"core", "faults", "generation", "latency", "ratelimit", "scenario", "storage"})
_WIRE = frozenset({"core", "encoding", "protocols"})
_HANDLING = _GENERATING | {"handler", "http", "journal", "observability", "settings"}
_RUNNING = _HANDLING | _WIRE | {"cluster", "control", "runtime", "vendors"}
_ALL = _RUNNING | {"client", "serve", "cli", "pytest_plugin", "recording", "imports", "sweep", "fit"}
_ROOT = ""

# What each part may import of ours, besides itself.
ALLOWED: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "generation": frozenset({"core"}),
    "faults": frozenset({"core"}),
    "latency": frozenset({"core"}),
    "ratelimit": frozenset({"core"}),
    "storage": frozenset({"core", "ratelimit"}),  # a store applies the strategies atomically
    "scenario": frozenset({"core", "faults", "latency", "recording"}),
    "encoding": frozenset({"core"}),
    "protocols": frozenset({"core", "encoding"}),
    "vendors": _WIRE,
    "settings": frozenset({"core"}),
    "journal": frozenset({"core", "faults", "scenario"}),
    "observability": frozenset({"core", "handler", "journal", "scenario"}),  # a span reads the request's context
    "recording": frozenset({"core", "http", "settings"}),
    "imports": frozenset({"core", "recording"}),
    "fit": frozenset({"core", "recording"}),
    "verdicts": frozenset({"core"}),
    "handler": _HANDLING | {"recording", "verdicts"},
    "http": _HANDLING | {"control", "runtime"},  # the listeners mount the control API
    "runtime": _HANDLING | {"cluster", "recording"},
    "control": _HANDLING | {"runtime", "verdicts"},
    "cluster": _HANDLING | {"control", "runtime"},
    "serve": _ALL - {"cli", "pytest_plugin"},
    "client": _HANDLING | {"control", "vendors"},
    "sweep": frozenset({"client", "control", "core", "faults"}),
    _ROOT: frozenset({"client", "serve"}),  # imported when called
    "cli": _ALL,
    "pytest_plugin": _ALL,
    "__main__": _ALL,
}

# Which parts alone may import a library.
LIBRARIES: dict[str, frozenset[str]] = {
    "aiohttp": frozenset(
        {"cli", "client", "cluster", "control", "handler", "http", "pytest_plugin", "recording", "runtime", "serve"}
    ),
    "faker": frozenset({"generation"}),
    "opentelemetry": frozenset({"handler", "observability"}),
    "prometheus_client": frozenset({"observability"}),
    "re2": frozenset({"scenario"}),
    "scipy": frozenset({"fit"}),
    "yaml": frozenset({"imports", "scenario", "sweep"}),
}


def find_imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every import, those inside functions and for type checking too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*outer, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def refuse(importer: str, imported: str) -> str | None:
    """Why one module may not import another; ``None`` if it may."""
    part = importer.split(".")[1] if "." in importer else ""
    top, *rest = imported.split(".")
    if top != "emulator":
        owners = LIBRARIES.get(top, frozenset({part}))
        return None if part in owners else f"only {', '.join(sorted(owners))} may import {top}"
    if rest == ["__version__"]:
        return None
    if rest == ["start"]:
        rest = ["serve"]  # a part that may start an emulator may import this
    if part not in ALLOWED:
        return f"{part or 'the root'} may import nothing of ours; a new part needs a row in ALLOWED"
    if part and rest[:1] == [part]:
        return _refuse_vendor(importer.split(".")[2:], rest[1:]) if part == "vendors" else None
    if rest and rest[0] in ALLOWED[part]:
        return None
    return f"{part} may import only {', '.join(sorted(ALLOWED[part])) or 'itself'}"


def _refuse_vendor(importer: list[str], imported: list[str]) -> str | None:
    """The list of vendors may import each of them, and a vendor only itself."""
    if not importer or importer[:1] == imported[:1]:
        return None
    return f"the vendor {importer[0]} may not know another, nor the list of them"


def check_source(source: str, module: str, package: str, name: str) -> list[str]:
    """One readable line per forbidden import."""
    found = ((line, imported, refuse(module, imported)) for line, imported in find_imports(source, package))
    return [f"{name}:{line}: imports {imported}: {reason}" for line, imported, reason in found if reason]


def check_file(path: Path) -> list[str]:
    names = list(path.relative_to(ROOT.parent).with_suffix("").parts)
    package = ".".join(names[:-1])
    module = package if names[-1] == "__init__" else ".".join(names)
    return check_source(path.read_text(encoding="utf-8"), module, package, str(path.relative_to(ROOT.parent)))


def test_every_import_stays_in_its_layer() -> None:
    problems = [problem for path in sorted(ROOT.rglob("*.py")) for problem in check_file(path)]
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("emulator.core.plan", "from emulator.generation.text import write", id="the core imports nothing"),
        pytest.param("emulator.generation.text", "from emulator import latency", id="generation imports no latency"),
        pytest.param("emulator.vendors.tgi.wire", "def f():\n    import aiohttp.web", id="a vendor sees no web server"),
        pytest.param("emulator.vendors.tgi.wire", "from emulator.vendors.azure import wire", id="nor another vendor"),
        pytest.param("emulator.vendors.tgi.wire", "from ..azure import wire", id="not even by a relative import"),
        pytest.param("emulator.vendors.tgi.wire", "from .. import VENDORS", id="nor the list of vendors"),
        pytest.param("emulator.vendors.tgi", "import emulator.generation", id="nor the engine"),
        pytest.param(
            "emulator.handler.planning", "from emulator.vendors import VENDORS", id="planning imports no vendor"
        ),
        pytest.param("emulator.scenario.load", "if TYPE_CHECKING:\n    from emulator.http import app", id="in types"),
        pytest.param("emulator.handler.planning", "import yaml", id="only scenarios are YAML"),
        pytest.param("emulator.latency.pacing", "from faker import Faker", id="only the engine invents text"),
        pytest.param("emulator.novelty", "from emulator.core import json", id="a part the table does not list"),
        pytest.param("emulator", "from emulator.core import json", id="the root stays light"),
    ],
)
def test_forbidden_import_is_named(module: str, source: str) -> None:
    package = module.rpartition(".")[0] if module.count(".") > 1 else module
    (problem,) = check_source(source, module, package, "made_up.py")
    assert problem.startswith(f"made_up.py:{source.count(chr(10)) + 1}: imports ")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("emulator.vendors.tgi.wire", "from emulator.vendors.tgi import errors", id="its own folder"),
        pytest.param("emulator.vendors.tgi.wire", "from . import errors", id="its own folder, relative"),
        pytest.param("emulator.vendors", "from emulator.vendors import azure, tgi", id="the list of vendors"),
        pytest.param("emulator.serve.server", "from emulator.control import api\nimport aiohttp", id="the server"),
        pytest.param("emulator.cli", "from emulator import __version__", id="the version"),
        pytest.param("emulator.core.rng", "import hashlib", id="the standard library"),
    ],
)
def test_allowed_import_passes(module: str, source: str) -> None:
    package = module.rpartition(".")[0] if module.count(".") > 1 else module
    assert check_source(source, module, package, "made_up.py") == []
