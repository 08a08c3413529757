"""Write tool calls as the model does, JSON around the arguments, and read them as the router does.

Source: text-generation-inference, ``router/src/chat.rs:11-58`` (Call, parse_output) and ``router/src/chat.rs:183-252``
(ChatState.push).
"""

from collections.abc import Sequence

from emulator.core.json import JSON, parse_json
from emulator.core.plan import Choice
from emulator.core.vendor import Tokenizer
from emulator.vendors.tgi.rust_text import quote

CALL_FRAME = ('{"function": {"_name": "', '",')
NO_CALL = CALL_FRAME[0] + 'no_tool"}}'  # what the model writes where it calls no tool
_CALLS = ("frame", "tool_call")


def is_call(choice: Choice) -> bool:
    """Return whether the choice is a tool call, even one cut off before its arguments."""
    return any([segment.kind in _CALLS for segment in choice.segments])


def list_no_call(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the tokens of the call of no tool, without the end-of-sequence token."""
    return tuple(tokenizer.pieces(NO_CALL))


def list_call_tokens(choice: Choice, ended: bool) -> list[str]:
    """Return the tokens of the first call as the model writes them.

    The name's token takes the comma and the braces of the arguments are those of the JSON around them: a call without
    arguments has no comma. Tokens before the first call have no text here, and those behind it are left out.

    Args:
        ended: the last token is the end-of-sequence token, which has no text here.
    """
    tokens: list[str] = []
    for segment in choice.segments:
        part = list(choice.tokens[segment.start : segment.end])
        if segment.kind == "frame":
            tokens += part
        elif segment.kind == "tool_call":
            return tokens + _join_arguments(tokens, part, ended=ended and segment.end == choice.count)
        else:
            tokens += [""] * len(part)
    return tokens


def _join_arguments(frame: list[str], tokens: list[str], *, ended: bool) -> list[str]:
    """Return the tokens of the arguments behind their frame; without arguments the frame loses its comma."""
    texts = tokens[:-1] if ended else tokens
    text = "".join(texts)
    first = next((position for position, token in enumerate(texts) if token), None)
    if first is None:
        return tokens
    if text.strip().startswith("{"):
        texts[first] = " " + texts[first].lstrip().removeprefix("{")
        if not text.strip().strip("{} \n") and frame:
            frame[-1] = frame[-1].rstrip(",")
    if _is_object(text):
        texts[-1] += "}"
    return [*texts, ""] if ended else texts


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except ValueError:
        return False


def read_call(text: str) -> tuple[str, JSON] | None:
    """Return name and arguments of a call, or ``None`` if the text is no whole call."""
    try:
        call = parse_json(text)
    except ValueError:
        return None
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("_name"), str):
        return None
    name = function["_name"]
    return str(name), {key: value for key, value in function.items() if key != "_name"}


def find_begun_call(text: str) -> str | None:
    """Return the name of a call whose name is complete; its arguments may still be missing."""
    call = read_call(text.rstrip("}, \t\r\n") + "}}")
    return None if call is None else call[0]


def explain_cut(text: str) -> str:
    """Return why the router cannot read a call that was cut off."""
    try:
        parse_json(text)
    except ValueError as error:
        return f"Failed to parse generated text: {error} {quote(text)}"
    return f"Failed to parse generated text: missing field `function` {quote(text)}"


def count_begun(tokens: Sequence[str]) -> int | None:
    """Return how many tokens a stream has when the name of its call is complete; ``None`` if it never is."""
    text = ""
    for count, token in enumerate(tokens, 1):
        text += token
        if find_begun_call(text) is not None:
            return count
    return None
