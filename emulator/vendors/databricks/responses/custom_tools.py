"""Custom tools of the Responses API: the argument is a text, optionally constrained by a grammar.

Source: docs.databricks.com, "Foundation model REST API reference", ``custom_tool_call``; openai-python,
``types/responses/custom_tool.py``. The error texts are OpenAI's, ``unverified`` for Databricks.
"""

from collections.abc import Mapping
from dataclasses import replace

from emulator.core.json import JSON, Object, as_object, dump_text
from emulator.core.requests import Message, Tool, ToolCall
from emulator.encoding.lark import BadGrammarError, build_input_schema
from emulator.protocols.openai.messages import parse_tool
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.request import ParsedRequest

CUSTOM_ITEMS = ("custom_tool_call", "custom_tool_call_output")


def is_custom(parsed: ParsedRequest, tool: JSON) -> bool:
    """Return whether a tool is a custom tool and the settings accept those."""
    return isinstance(tool, dict) and tool.get("type") == "custom" and parsed.settings.responses_tool_types == "known"


def name_choice(parsed: ParsedRequest, choice: JSON) -> JSON:
    """Convert a choice of a custom tool to one of a function."""
    return {**as_object(choice), "type": "function"} if is_custom(parsed, choice) else choice


def parse_offer(tool: Object, where: str) -> Tool:
    """Return a function or a custom tool in vendor-neutral form."""
    parsed = parse_tool(tool)
    return replace(parsed, parameters=_parse_schema(tool, where), bare=True) if tool.get("type") == "custom" else parsed


def _parse_schema(tool: Object, where: str) -> JSON:
    if not isinstance(tool.get("name"), str):
        raise error_parameter(f"Missing required parameter: '{where}.name'.", "tools")
    form = tool.get("format")
    if not isinstance(form, dict) or form.get("type") != "grammar":
        return {"type": "string"}
    syntax, definition = form.get("syntax"), form.get("definition")
    if syntax not in ("lark", "regex") or not isinstance(definition, str):
        raise error_parameter(f"Invalid '{where}.format': a grammar needs 'definition' and 'syntax'.", "tools")
    try:
        return build_input_schema(str(syntax), definition)
    except BadGrammarError as error:
        raise error_parameter(
            f"Invalid '{where}.format': the grammar is not valid {syntax}: {error}.", "tools"
        ) from None


def parse_custom_item(item: Mapping[str, JSON], kind: str, where: str) -> Message:
    """Parse a call of a custom tool, or its output."""
    call_id = _require(item, "call_id", where)
    if kind == "custom_tool_call":
        call = ToolCall(call_id, _require(item, "name", where), _require(item, "input", where))
        return Message(role="assistant", tool_calls=(call,))
    output = item.get("output")
    if output is None:
        raise error_parameter(f"Missing required parameter: '{where}.output'.", where)
    return Message(role="tool", text=output if isinstance(output, str) else dump_text(output), tool_call_id=call_id)


def _require(item: Mapping[str, JSON], name: str, where: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise error_parameter(f"Missing required parameter: '{where}.{name}'.", where)
    return value
