"""Shapes of Anthropic's requests, from the parameter types of the package ``anthropic``."""

import types
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from anthropic.types.message_create_params import MessageCreateParamsBase
from typing_extensions import get_type_hints, is_typeddict

# Fields beyond those types: of the beta API, and of Claude on other clouds.
ADDED: dict[str, dict[str, object]] = {
    "MessageCreateParamsBase": {
        "stream": "boolean",
        "context_management": "object",
        "mcp_servers": {"array": "object"},
        "output_format": "object",
        "betas": {"array": "string"},
        "anthropic_version": "string",
        "anthropic_beta": {"array": "string"},
        "speed": "string",
        "container": "any",
    },
}
# Bounds that the SDK's types do not have, by type and field.
BOUNDS: dict[str, dict[str, dict[str, object]]] = {
    "MetadataParam": {"user_id": {"max": 256}},  # docs.anthropic.com, "Messages"
    # anthropics/claude-code issue threads
    "ToolParam": {"name": {"pattern": "^[a-zA-Z0-9_-]{1,128}$"}},
    # openclaw/openclaw issue 13134
    "ToolUseBlockParam": {"id": {"pattern": "^[a-zA-Z0-9_-]+$"}, "name": {"min": 1, "max": 200}},
    "ToolResultBlockParam": {"tool_use_id": {"pattern": "^[a-zA-Z0-9_-]+$"}},
}
# Unions of the SDK with any object, of which the service takes the type alone.
TYPED = {("ToolParam", "input_schema"): "InputSchemaTyped"}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", object: "any", Any: "any"}


class Table:
    """Definitions, in the order in which the roots reach them."""

    def __init__(self) -> None:
        self.shapes: dict[str, object] = {}

    def build(self, hint: Any) -> object:
        if hint in _PLAIN:
            return _PLAIN[hint]
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Annotated, Required, NotRequired):
            return self.build(args[0])
        if origin is Literal:
            return {"enum": list(args)}
        if origin in (Union, types.UnionType):
            return self._join([self.build(one) for one in args if one is not type(None)])
        if is_typeddict(hint):
            return self._name(hint)
        if origin is dict:
            return "object"
        if origin in (list, Iterable, Sequence) or getattr(origin, "__name__", "") in ("Iterable", "SequenceNotStr"):
            return {"array": self.build(args[0])}
        return "any"  # files and models of the SDK itself

    def _name(self, hint: Any) -> object:
        name = hint.__name__
        if name not in self.shapes:
            self.shapes[name] = "any"
            hints = get_type_hints(hint, include_extras=True)
            fields = {key.rstrip("_"): self.build(one) for key, one in hints.items()}
            fields.pop("user_profile_id", None)  # a header
            fields |= {field: f"#{shape}" for (owner, field), shape in TYPED.items() if owner == name}
            for field, limits in BOUNDS.get(name, {}).items():
                fields[field] = {"bound": fields[field], **limits}
            shape: dict[str, object] = {"fields": fields | ADDED.get(name, {})}
            if getattr(hint, "__extra_items__", None) is object or name == "InputSchemaTyped":
                shape = {"open": True, **shape}
            marks: dict[str, object] = {key.rstrip("_"): get_origin(one) for key, one in hints.items()}
            required = [
                key
                for key in hints
                if key in fields and (marks[key] is Required or (hint.__total__ and not marks[key]))
            ]
            self.shapes[name] = {**shape, "required": required} if required else shape
        return f"#{name}"

    def _join(self, shapes: list[object]) -> object:
        flat: list[object] = []
        for shape in shapes:
            flat += [one for one in (shape["any"] if isinstance(shape, dict) and "any" in shape else [shape])]
        flat = [one for number, one in enumerate(flat) if one not in flat[:number]]
        if "string" in flat:
            flat = [one for one in flat if not (isinstance(one, dict) and "enum" in one)]
        if "object" in flat:
            flat = [one for one in flat if not (isinstance(one, str) and one.startswith("#"))]
        objects: list[object] = [one for one in flat if isinstance(one, str) and one.startswith("#")]
        others = [one for one in flat if one not in objects and not (objects and one == "any")]  # answers' own models
        joined = [*others, *self._tag(objects)]
        return joined[0] if len(joined) == 1 else {"any": joined}

    def _tag(self, objects: list[object]) -> list[object]:
        if len(objects) < 2:
            return objects
        kinds: dict[str, object] = {}
        for one in objects:
            shape: Any = self.shapes[str(one)[1:]]
            field = shape["fields"].get("type")
            values = field["enum"] if isinstance(field, dict) and "enum" in field else []
            kinds |= {value: one for value in values if value not in kinds}
        if len(kinds) < len(objects):
            return objects
        return [{"tag": "type", "kinds": kinds, **({"default": "custom"} if "custom" in kinds else {})}]


def list_anthropic() -> dict[str, object]:
    """Return the table of the installed package."""
    table = Table()
    table.shapes["messages"] = table.build(MessageCreateParamsBase)
    return table.shapes
