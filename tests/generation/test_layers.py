"""The modules of ``generation/`` import one another in one direction."""

from graphlib import TopologicalSorter

from tests.test_layers import ROOT, find_imports

MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "generation").rglob("*.py")
}


def imports_of(module: str) -> set[str]:
    """The engine's modules that a module imports, wherever in it."""
    found = {name for _, name in find_imports(MODULES[module].read_text(encoding="utf-8"), module)}
    return {name if name in MODULES else name.rpartition(".")[0] for name in found} & MODULES.keys()


def test_generation_modules_have_no_import_cycle() -> None:
    TopologicalSorter({module: imports_of(module) for module in MODULES}).prepare()


def test_regex_modules_import_no_schema_modules() -> None:
    below = [module for module in MODULES if module.startswith("emulator.generation.regex")]
    known = {imported for module in below for imported in imports_of(module)}
    assert known - set(below) == {"emulator.generation.step_budget"}
