"""``.ci/dataclass_constructors.py``: classes with written constructors behave as those of ``dataclass``."""

import dataclasses
import importlib.util
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"][
    "hooks"
]["custom"]
IMPORTS = """
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, Generic, TypeVar
from emulator.core.dataclass import fast_dataclass
T = TypeVar("T")
"""


def load_script(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


constructors = load_script("dataclass_constructors", ROOT / ".ci" / "dataclass_constructors.py")


@contextmanager
def loaded(sources: dict[str, str]) -> Iterator[dict[str, ModuleType]]:
    """Modules of these sources, which may import one another in their order."""
    modules = {name: ModuleType(name) for name in sources}
    sys.modules.update(modules)
    try:
        for name, source in sources.items():
            exec(source, vars(modules[name]))
        yield modules
    finally:
        for name in modules:
            del sys.modules[name]


def describe(cls: Any, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> Iterator[object]:
    """What a user can observe of a dataclass and of the objects that these calls make."""
    kept = ("name", "default", "init", "repr", "kw_only")
    yield [[getattr(each, name) for name in kept] for each in dataclasses.fields(cls)]
    yield cls.__match_args__
    for positional, named in calls:
        try:
            made, again = cls(*positional, **named), cls(*positional, **named)
        except TypeError as error:
            yield str(error)
            continue
        values = {each.name: getattr(made, each.name) for each in dataclasses.fields(made)}
        yield values, repr(made), made == again, cls.__hash__ is None
        yield [getattr(again, name) is value for name, value in values.items()]
        yield cls.__hash__ is object.__hash__ or cls.__hash__ is None or hash(made) == hash(again)
        yield dataclasses.asdict(dataclasses.replace(made)), dataclasses.replace(made) == made


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        pytest.param("@dataclass\nclass A:\n    a: int\n    b: str = 'x'\n", [((1,), {}), ((), {})], id="bare"),
        pytest.param("@dataclass(slots=True)\nclass A:\n    a: int\n", [((1,), {}), ((1, 2), {})], id="slots"),
        pytest.param(
            "@dataclass(frozen=True)\nclass A:\n    a: int\n    b: int = 2\n", [((1,), {"b": 3})], id="frozen"
        ),
        pytest.param(
            "@dataclass(frozen=True, eq=False)\nclass A:\n    a: int\n", [((1,), {})], id="frozen, by identity"
        ),
        pytest.param("@fast_dataclass(frozen=True, slots=True)\nclass A:\n    a: int\n", [((1,), {})], id="fast"),
        pytest.param(
            "@dataclass(\n    slots=True,\n    kw_only=True,\n)\nclass A:\n    a: int = 1\n    b: int\n",
            [((), {"b": 2}), ((1, 2), {})],
            id="keywords alone",
        ),
        pytest.param(
            "@dataclass(order=True)\nclass A:\n    a: int = 1\n    b: int = field(kw_only=True)\n",
            [((), {"b": 2}), ((1,), {"b": 2}), ((), {})],
            id="one field by keyword alone",
        ),
        pytest.param(
            "@dataclass\nclass A:\n    a: list[int] = field(default_factory=list)\n"
            "    b: dict[str, int] = field(default_factory=lambda: {'x': 1})\n",
            [((), {}), (([1],), {"b": {}})],
            id="factories, called for each object",
        ),
        pytest.param(
            "@dataclass\nclass A:\n    a: object = field(default=object)\n    b: tuple[float, ...] = tuple([1.5])\n",
            [((), {}), ((2,), {})],
            id="defaults, shared by all objects",
        ),
        pytest.param(
            "@dataclass(slots=True)\nclass A:\n    a: int\n    b: int = field(default=3, init=False)\n"
            "    c: list[int] = field(default_factory=list, init=False, repr=False)\n",
            [((1,), {}), ((1, 2), {})],
            id="no parameters",
        ),
        pytest.param(
            "@dataclass\nclass A:\n    a: int\n    b: int = field(init=False)\n\n"
            "    def __post_init__(self) -> None:\n        self.b = self.a + 1\n",
            [((1,), {})],
            id="post-init",
        ),
        pytest.param(
            "@dataclass\nclass B:\n    a: int\n    b: int = 2\n\n    def __post_init__(self) -> None:\n"
            "        self.a += 1\n\n\n@dataclass(slots=True)\nclass A(B):\n    c: 'str' = 'c'\n    a: int = 5\n",
            [((), {}), ((1, 2, "3"), {})],
            id="inheritance",
        ),
        pytest.param(
            "@dataclass\nclass B:\n    a: int = 1\n\n\n@dataclass\nclass C:\n    b: int = 2\n\n\n"
            "@dataclass\nclass A(B, C):\n    c: int = 3\n",
            [((1, 2), {"c": 4})],
            id="two bases",
        ),
        pytest.param(
            "class B:\n    def twice(self) -> int:\n        return 2\n\n\n@dataclass\nclass A(B):\n    a: int\n",
            [((1,), {})],
            id="a base that is no dataclass",
        ),
        pytest.param("@dataclass\nclass A:\n    a: ClassVar[int] = 1\n", [((), {}), ((1,), {})], id="no field"),
    ],
)
def test_written_constructor_equals_that_of_dataclass(
    body: str, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
) -> None:
    source = IMPORTS + body
    written = constructors.write_constructors({"written": source})["written"]
    assert len(written.split("\n")) == len(source.split("\n"))
    with loaded({"original": source, "written": written}) as modules:
        original, native = modules["original"].A, modules["written"].A
        assert "init=False" in written
        assert native.__init__.__code__.co_firstlineno == len(source.split("\n"))
        assert list(describe(native, calls)) == list(describe(original, calls))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("@dataclass\nclass A(Generic[T]):\n    a: T\n", id="generic"),
        pytest.param("@dataclass(slots=True, weakref_slot=True)\nclass A:\n    a: int\n", id="weak references"),
        pytest.param("@dataclass(init=False)\nclass A:\n    a: int\n", id="no constructor"),
        pytest.param("@dataclass\nclass A:\n    a: int\n\n    def __init__(self) -> None: ...\n", id="its own"),
        pytest.param("@dataclass\nclass A:\n    a: InitVar[int]\n", id="a parameter that is no field"),
        pytest.param("@dataclass\nclass A:\n    _: KW_ONLY\n    a: int\n", id="a marker"),
        pytest.param("@str\n@dataclass\nclass A:\n    a: int\n", id="another decorator"),
        pytest.param(
            "@dataclass\nclass A:\n    a: list[int] | None = field(default_factory=list)\n", id="a factory or None"
        ),
        pytest.param("@dataclass\nclass A(ValueError):\n    a: int\n", id="a base of another module"),
        pytest.param(
            "@dataclass\nclass B(Generic[T]):\n    b: T\n\n\n@dataclass\nclass A(B[int]):\n    a: int\n", id="of it"
        ),
        pytest.param("class A:\n    a: int = 1\n", id="no dataclass"),
    ],
)
def test_other_classes_stay_as_they_are(body: str) -> None:
    assert constructors.write_constructors({"m": IMPORTS + body}) == {"m": IMPORTS + body}


def test_base_of_another_module_is_found_by_its_import() -> None:
    first = "from dataclasses import dataclass\n\n\n@dataclass\nclass A:\n    a: int\n"
    other = first.replace("a: int", "b: int")
    last = "from dataclasses import dataclass\nfrom first import A as B\n\n\n@dataclass\nclass C(B):\n    c: int = 2\n"
    written = constructors.write_constructors({"other": other, "first": first, "last": last})
    with loaded(written) as modules:
        assert repr(modules["last"].C(1)) == "C(a=1, c=2)"


@pytest.mark.parametrize(
    ("bases", "is_native"),
    [
        pytest.param("", True, id="none"),
        pytest.param("(ValueError)", True, id="an exception"),
        pytest.param("(Protocol)", True, id="a protocol"),
        pytest.param("(Generic[T])", True, id="generic"),
        pytest.param("(Base)", True, id="a native class"),
        pytest.param("(Cache)", False, id="a class that is not compiled"),
        pytest.param("(Base, Cache)", False, id="two, one of them not compiled"),
        pytest.param("(Derived)", False, id="a class that is not native"),
        pytest.param("(dict[str, int])", False, id="a built-in class"),
    ],
)
def test_class_is_native_if_its_bases_are(bases: str, is_native: bool) -> None:
    head = "from cache import Cache\n\n\nclass Base:\n    pass\n\n\nclass Derived(Cache):\n    pass\n\n\n"
    written = constructors.write_constructors({"m": f"{head}class A{bases}:\n    pass\n"})["m"]
    assert ("@python_class\nclass A" not in written) is is_native
    assert "@python_class\nclass Derived" in written


def test_class_without_blank_line_behind_it_is_refused() -> None:
    source = "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: int\nx = 1\n"
    with pytest.raises(ValueError, match="m: line 5 is not blank"):
        constructors.write_constructors({"m": source})


def test_sources_of_the_compiled_wheel_keep_their_lines() -> None:
    paths = [ROOT / folder / f"{name}.py" for folder, names in HOOK["modules"].items() for name in names]
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    for name, text in constructors.write_constructors(sources).items():
        compile(text, name, "exec")
        assert len(text.split("\n")) == len(sources[name].split("\n")), name


def test_wheel_is_pure_unless_asked_for() -> None:
    assert HOOK["enable-by-default"] is False
    assert (ROOT / HOOK["path"]).is_file()
