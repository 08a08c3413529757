"""Raise for fields of a Messages request that contradict one another or the conversation.

Sources of the texts: issue threads of the projects that are named; docs.anthropic.com, "Extended thinking", "Prompt
caching", "Handle tool use" (results come first in a message).
"""

from collections.abc import Iterator, Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object

_MAX_BREAKPOINTS = 4
_LEAST_TOP_P = 0.95
_CONSULT = (
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    "#important-considerations-when-using-extended-thinking"
)


def error_parameter(text: str, param: str | None = None) -> EmulatedError:
    """Return the error of a request with an invalid field (400)."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, text, param)


def validate_output(max_tokens: int, most: int | None, model: str) -> None:
    """Raise if more tokens are requested than a model can output."""
    if most is not None and max_tokens > most:
        text = f"max_tokens: {max_tokens} > {most}, which is the maximum allowed number of output tokens for {model}"
        raise error_parameter(text, "max_tokens")


def validate_alternatives(body: Mapping[str, JSON]) -> None:
    """Raise if both of two alternatives are set. Source: cloud-apim/otoroshi-llm-extension issue 140 (from 4.1 on)."""
    if body.get("temperature") is not None and body.get("top_p") is not None:
        text = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        raise error_parameter(text, "temperature")


def validate_thinking(body: Mapping[str, JSON]) -> None:
    """Raise for what a budget for thinking excludes. Source: quarkiverse/quarkus-langchain4j issue 1812."""
    thinking, choice = body.get("thinking"), body.get("tool_choice")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    top_p = body.get("top_p")
    if body.get("temperature") not in (None, 1):
        raise error_parameter(f"`temperature` may only be set to 1 when thinking is enabled. {_CONSULT}", "temperature")
    if body.get("top_k") is not None:
        raise error_parameter(f"`top_k` must be unset when thinking is enabled. {_CONSULT}", "top_k")
    if isinstance(top_p, int | float) and top_p < _LEAST_TOP_P:
        text = f"`top_p` must be greater than or equal to {_LEAST_TOP_P} or unset when thinking is enabled."
        raise error_parameter(f"{text} {_CONSULT}", "top_p")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        raise error_parameter("Thinking may not be enabled when tool_choice forces tool use.", "tool_choice")


def validate_breakpoints(body: Mapping[str, JSON]) -> None:
    """Raise for too many blocks with ``cache_control``. Source: tghamm/Anthropic.SDK issue 50."""
    parts: list[JSON] = [body.get(name) for name in ("tools", "system", "messages")]
    count = sum(map(_count_breakpoints, parts))
    if count > _MAX_BREAKPOINTS:
        text = f"A maximum of {_MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {count}."
        raise error_parameter(text)


def _count_breakpoints(value: JSON) -> int:
    """Count in lists of blocks, messages and results of tools; what schemas and arguments hold is no block."""
    count = 0
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            count += item.get("cache_control") is not None
            count += _count_breakpoints(item.get("content"))
    return count


def validate_names(tools: Sequence[JSON]) -> None:
    """Raise for two tools of one name. Source: tailcallhq/forgecode issue 892."""
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    if len({str(name) for name in names}) < len(names):
        raise error_parameter("tools: Tool names must be unique.", "tools")


def validate_stops(stops: Sequence[JSON]) -> None:
    """Raise for a blank stop sequence. Source: stanford-crfm/helm, run_expander.py."""
    if any(isinstance(stop, str) and not stop.strip() for stop in stops):
        raise error_parameter("stop_sequences: each stop sequence must contain non-whitespace", "stop_sequences")


def validate_content(content: JSON, where: str, *, is_final_answer: bool) -> None:
    """Raise for a message without content. Source: anthropics/claude-code issue 6774."""
    if content in ("", []) and not is_final_answer:
        text = "all messages must have non-empty content except for the optional final assistant message"
        raise error_parameter(f"{where}: {text}", "messages")


def validate_end(blocks: Sequence[Object]) -> None:
    """Raise for blanks at the end of the answer that a model continues. Source: tailcallhq/forgecode issue 1872."""
    text = blocks[-1].get("text") if blocks else None
    if isinstance(text, str) and text != text.rstrip():
        raise error_parameter("messages: final assistant content cannot end with trailing whitespace", "messages")


def validate_calls(blocks: Sequence[Object], where: str) -> None:
    """Raise for two calls with one id in a message. Source: issue threads of Anthropic's clients."""
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        if block["type"] == "tool_use" and (name := str(block.get("id"))) in seen:
            raise error_parameter(f"{where}.content.{number}: `tool_use` ids must be unique", "messages")
        elif block["type"] == "tool_use":
            seen.add(name)


def validate_results(blocks: Sequence[Object], called: frozenset[str], where: str) -> None:
    """Raise for a result without a call, two results of a call, or a call whose result does not follow at once."""
    seen: set[str] = set()
    for number, name in _list_results(blocks):
        place = f"{where}.content.{number}"
        if name not in called:
            text = (
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each `tool_result`"
                " block must have a corresponding `tool_use` block in the previous message."
            )
            raise error_parameter(text, "messages")
        if name in seen:
            text = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}"
            raise error_parameter(f"{place}: {text}", "messages")
        seen.add(name)
    first = [name for number, name in _list_results(blocks) if number < len(called)]
    missing = [name for name in sorted(called) if name not in first]
    if missing:
        text = (
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}."
            " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
        raise error_parameter(text, "messages")


def _list_results(blocks: Sequence[Object]) -> Iterator[tuple[int, str]]:
    """Yield position and id of each result."""
    for number, block in enumerate(blocks):
        if block["type"] == "tool_result":
            yield number, str(block.get("tool_use_id"))
