"""Break the arguments of a generated tool call as models do, for the fault ``bad_arguments``.

The broken text does not parse, or is JSON that does not fit the tool's schema.
"""

from collections.abc import Iterator

from emulator.core.json import JSON, Object, dump_text, parse_json
from emulator.core.plan import Breakage
from emulator.generation.json_schema import is_instance
from emulator.generation.tools import properties_of

_OTHERS: tuple[JSON, ...] = ("text", 7, True, [], {}, None)  # values of every type, tried in this order


def break_arguments(text: str, schema: JSON, how: Breakage) -> str:
    """Return broken arguments as text, always the same ones for the same arguments.

    Args:
        text: the arguments as JSON text; text that does not parse is broken as text only.
        schema: JSON Schema of the tool's parameters.
    """
    if how == "truncated":
        return _truncate(text)
    if how == "not_json":
        return f"```json\n{text}\n```"
    try:
        arguments = parse_json(text)
    except ValueError:
        return text
    if not isinstance(arguments, dict):
        return text
    match how:
        case "wrong_type":
            return dump_text(_change_type(arguments, schema))
        case "missing":
            return dump_text(_leave_out(arguments, schema))
        case "extra":
            return dump_text(_add(arguments, schema))


def _truncate(text: str) -> str:
    """Return the first half of a text, cut inside a value if there is one."""
    cut = text[: max(1, len(text) // 2)]
    try:
        parse_json(cut)
    except ValueError:
        return cut
    return "{" if cut.strip() else cut  # the first half of a number is a number


def _change_type(arguments: Object, schema: JSON) -> JSON:
    """Return the arguments with one value of a type that the schema refuses; a list if it refuses none."""
    for name, trial in _list_trials(arguments):
        if not is_instance(schema, trial) and type(trial[name]) is not type(arguments[name]):
            return trial
    return [arguments]


def _list_trials(arguments: Object) -> Iterator[tuple[str, Object]]:
    for name in arguments:
        for other in _OTHERS:
            yield name, {**arguments, name: other}


def _leave_out(arguments: Object, schema: JSON) -> Object:
    """Return the arguments without the first required one, or without the first."""
    required = schema.get("required") if isinstance(schema, dict) else None
    wanted = [name for name in (required if isinstance(required, list) else ()) if name in arguments]
    lost = next(iter(wanted or arguments), None)
    return {name: value for name, value in arguments.items() if name != lost}


def _add(arguments: Object, schema: JSON) -> Object:
    """Return the arguments with one that the schema does not have."""
    known, name = {*properties_of(schema), *arguments}, "unexpected"
    while name in known:
        name += "_"
    return {**arguments, name: "value"}
