"""Change sources before mypyc compiles them: write out constructors of dataclasses, and keep some classes Python's.

The constructors that ``dataclass`` makes would not be compiled. A class that derives from one which is not compiled
must not be either: mypyc neither clears its weak references nor frees what the other class holds. What is written takes
the place of the blank line before or behind a class, so that every other line keeps its number.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

DECORATORS = {"dataclass", "fast_dataclass"}
WRITTEN = "native_dataclass"  # by which a changed source names ``dataclasses.dataclass``
PYTHON = "python_class"  # decorator of a class that is not to be native, as any decorator unknown to mypyc says
NATIVE_BASES = {"ABC", "Generic", "Protocol", "asyncio.Protocol"}  # nothing to free, and no weak references
UNSUPPORTED = ("InitVar", "KW_ONLY")  # annotations that are instructions to ``dataclass``


@dataclass(frozen=True)
class Field:
    """Field of a dataclass, its expressions as source text; without annotation if only another module could read it."""

    name: str
    annotation: str | None
    kw_only: bool
    default: str | None = None
    factory: str | None = None
    in_init: bool = True


class Module:
    """Classes at the top level of a module, and the modules of the names that it imports."""

    def __init__(self, source: str) -> None:
        self.lines = source.split("\n")
        body = ast.parse(source).body
        self.classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        self.imports = [node for node in body if isinstance(node, ast.ImportFrom)]
        self.origins = {
            alias.asname or alias.name: (node.module or "", alias.name) for node, alias in self._list_imported()
        }

    def _list_imported(self) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
        for node in self.imports:
            for alias in node.names:
                yield node, alias


class UnsupportedError(Exception):
    """A dataclass whose constructor cannot be written; ``dataclass`` makes it at run time."""


def write_constructors(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the sources of modules, by their names, with the constructors of their dataclasses.

    A dataclass stays as it is if it has a constructor, an option of another meaning for native classes
    (``weakref_slot``, ``init``), a second decorator, an ``InitVar``, or a base that is generic or unknown.
    """
    modules = {name: Module(source) for name, source in sources.items()}
    return {name: _change_module(name, modules) for name in modules}


def _change_module(name: str, modules: Mapping[str, Module]) -> str:
    module = modules[name]
    lines, changed = list(module.lines), set()
    _mark_python_classes(name, modules, lines)
    for node in module.classes.values():
        decorator = _find_decorator(node)
        if decorator is None:
            continue
        try:
            constructor = _write_constructor(name, node, modules)
        except UnsupportedError:
            continue
        _fill(lines, node.end_lineno or 0, constructor, name)
        first, last = decorator.lineno - 1, decorator.end_lineno or 0
        lines[first:last] = [f"@{WRITTEN}({', '.join(_change_options(node))})", *[""] * (last - first - 1)]
        changed.add(_name_function(decorator))
    for imported in module.imports:
        if changed & {alias.asname or alias.name for alias in imported.names}:
            at = imported.lineno - 1
            lines[at] = f"from dataclasses import dataclass as {WRITTEN}; {lines[at]}"
            break
    return "\n".join(lines)


def _mark_python_classes(name: str, modules: Mapping[str, Module], lines: list[str]) -> None:
    """Decorate the classes of a module that are not to be native."""
    module, found = modules[name], False
    for node in module.classes.values():
        if all(_is_native(name, base, modules) for base in map(ast.unparse, node.bases)):
            continue
        _fill(lines, min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 2, f"@{PYTHON}", name)
        found = True
    if found:
        _fill(lines, module.imports[-1].end_lineno or 0, f"{PYTHON} = lambda each: each", name)


def _fill(lines: list[str], at: int, text: str, module: str) -> None:
    """Write a text in place of a blank line."""
    if lines[at].strip():
        raise ValueError(f"{module}: line {at + 1} is not blank")
    lines[at] = text


def _is_native(module: str, base: str, modules: Mapping[str, Module]) -> bool:
    """Return whether a class may be native with this base."""
    name = base.partition("[")[0]
    if name in NATIVE_BASES:
        return True
    built_in = getattr(builtins, name, None)
    if isinstance(built_in, type):
        return issubclass(built_in, BaseException)
    where, name = modules[module].origins.get(name, (module, name))
    found = modules[where].classes.get(name) if where in modules else None
    return found is not None and all(_is_native(where, each, modules) for each in map(ast.unparse, found.bases))


def _find_decorator(node: ast.ClassDef) -> ast.expr | None:
    """Return the decorator that makes a class a dataclass."""
    return next((each for each in node.decorator_list if _name_function(each) in DECORATORS), None)


def _name_function(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _list_options(node: ast.ClassDef) -> dict[str, str]:
    """Return the options of a class's decorator, their values as source text."""
    decorator = _find_decorator(node)
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return {keyword.arg or "**": ast.unparse(keyword.value) for keyword in keywords}


def _change_options(node: ast.ClassDef) -> Iterator[str]:
    options = _list_options(node)
    options.pop("slots", None)  # a native class has nothing else
    yield "init=False"
    if options.pop("frozen", None) == "True" and options.get("eq") != "False":
        yield "unsafe_hash=True"  # what is frozen could not be set by a constructor
    for name, value in options.items():
        yield f"{name}={value}"


def _write_constructor(module: str, node: ast.ClassDef, modules: Mapping[str, Module]) -> str:
    fields = list(_collect_fields(module, node, modules).values())
    given = [each for each in fields if each.in_init]
    named = [_write_parameter(each) for each in given if each.kw_only]
    parameters = ["self", *(_write_parameter(each) for each in given if not each.kw_only), *(["*"] if named else [])]
    body = [f"self.{each.name} = {value}" for each in fields if (value := _write_value(each)) is not None]
    if _has_post_init(module, node, modules):
        body.append("self.__post_init__()")
    return f"    def __init__({', '.join([*parameters, *named])}) -> None: {'; '.join(body) or 'pass'}"


def _write_parameter(field: Field) -> str:
    if field.factory is not None:
        return f"{field.name}: {f'{field.annotation} | None'!r} = None"
    annotation = "" if field.annotation is None else f": {field.annotation!r}"
    default = "" if field.default is None else f" = {field.default}"
    return f"{field.name}{annotation}{default}"


def _write_value(field: Field) -> str | None:
    made = field.default if field.factory is None else f"({field.factory})()"
    if not field.in_init:
        return made
    return field.name if field.factory is None else f"{made} if {field.name} is None else {field.name}"


def _collect_fields(module: str, node: ast.ClassDef, modules: Mapping[str, Module]) -> dict[str, Field]:
    """Return the fields of a class and of its bases, in the order of ``dataclass``."""
    fields: dict[str, Field] = {}
    for where, base in reversed(_find_bases(module, node, modules)):
        inherited = _collect_fields(where, base, modules)
        fields.update(inherited if where == module else {each.name: _strip_names(each) for each in inherited.values()})
    if _find_decorator(node) is not None:
        _check_supported(node)
        fields.update({field.name: field for field in _read_fields(node)})
    return fields


def _strip_names(field: Field) -> Field:
    """Return a field of another module, without the names that only that module knows."""
    if field.factory is not None or not isinstance(ast.parse(field.default or "None", mode="eval").body, ast.Constant):
        raise UnsupportedError
    return replace(field, annotation=None)


def _find_bases(module: str, node: ast.ClassDef, modules: Mapping[str, Module]) -> Sequence[tuple[str, ast.ClassDef]]:
    """Return the bases of a class, each with its module."""
    found = []
    for base in map(ast.unparse, node.bases):
        where, name = modules[module].origins.get(base, (module, base))
        if where not in modules or name not in modules[where].classes:
            raise UnsupportedError
        found.append((where, modules[where].classes[name]))
    return found


def _check_supported(node: ast.ClassDef) -> None:
    options = _list_options(node)
    if "init" in options or options.get("weakref_slot") == "True" or len(node.decorator_list) > 1:
        raise UnsupportedError
    if "__init__" in _list_methods(node):
        raise UnsupportedError


def _list_methods(node: ast.ClassDef) -> set[str]:
    return {each.name for each in node.body if isinstance(each, ast.FunctionDef)}


def _has_post_init(module: str, node: ast.ClassDef, modules: Mapping[str, Module]) -> bool:
    return "__post_init__" in _list_methods(node) or any(
        _has_post_init(where, base, modules) for where, base in _find_bases(module, node, modules)
    )


def _read_fields(node: ast.ClassDef) -> Iterator[Field]:
    kw_only = _list_options(node).get("kw_only") == "True"
    for each in node.body:
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        annotation = _read_annotation(each.annotation)
        if annotation.startswith(UNSUPPORTED):
            raise UnsupportedError
        if not annotation.startswith("ClassVar"):
            yield _read_field(each.target.id, annotation, each.value, kw_only)


def _read_annotation(annotation: ast.expr) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _read_field(name: str, annotation: str, value: ast.expr | None, kw_only: bool) -> Field:
    if not isinstance(value, ast.Call) or ast.unparse(value.func) != "field":
        return Field(name, annotation, kw_only, None if value is None else ast.unparse(value))
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords}
    factory = given.get("default_factory")
    if factory is not None and "None" in annotation:  # ``None`` stands for a parameter that is not given
        raise UnsupportedError
    return Field(
        name,
        annotation,
        given.get("kw_only", str(kw_only)) == "True",
        given.get("default"),
        factory,
        given.get("init", "True") == "True",
    )
