"""Word the refusals of texts, lists, numbers and values out of their bounds, as OpenAI's API does.

Sources: openai/openai-python issue threads; ``empty string``: earendil-works/pi issue 2917; ids:
openai/openai-cs-agents-demo issue 34 (Azure OpenAI), langchain-ai/langchainjs issue 11044.
"""

from collections.abc import Sequence
from typing import Literal

from emulator.core.errors import shorten
from emulator.core.json import JSON

_EMPTY = "Expected {article} {kind} with minimum length 1, but got an empty {kind} instead."
Sign = Literal["<", "<=", ">", ">="]
Worded = tuple[str, str]
"""Message and code."""


def list_values(values: Sequence[str]) -> str:
    """Return accepted values: ``'a'``, ``'a' and 'b'``, or ``'a', 'b', and 'c'``."""
    names = [f"'{name}'" for name in values]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"


def format_type(value: JSON) -> str:
    """Return OpenAI's name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a decimal number", list: "an array", dict: "an object"}
    return names.get(type(value), "an unknown type")


def word_length(path: str, value: JSON, limit: int, *, long: bool) -> Worded:
    """Word a text or a list that is too long or too short."""
    kind = "string" if isinstance(value, str) else "array"
    article = "a" if kind == "string" else "an"
    given = len(value) if isinstance(value, str | list) else 0
    if not long and given == 0 and limit == 1:
        return f"Invalid '{path}': empty {kind}. {_EMPTY.format(article=article, kind=kind)}", f"empty_{kind}"
    size, side = ("long", "maximum") if long else ("short", "minimum")
    expected = f"Expected {article} {kind} with {side} length {limit}, but got {article} {kind} with length {given}"
    code = f"{kind}_{'above_max' if long else 'below_min'}_length"
    return f"Invalid '{path}': {kind} too {size}. {expected} instead.", code


def word_pattern(path: str, pattern: str) -> Worded:
    """Word a text that does not match a pattern."""
    expected = f"Expected a string that matches the pattern '{pattern}'."
    return f"Invalid '{path}': string does not match pattern. {expected}", "invalid_value"


def word_prefix(path: str, value: str, prefix: str) -> Worded:
    """Word an id of another kind of object."""
    return f"Invalid '{path}': '{shorten(value)}'. Expected an ID that begins with '{prefix}'.", "invalid_value"


def word_characters(path: str, value: str) -> Worded:
    """Word an id that is empty or has characters that ids have not."""
    expected = "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained"
    return f"Invalid '{path}': '{shorten(value)}'. {expected} additional characters.", "invalid_value"


def word_range(path: str, value: JSON, limit: float, sign: Sign) -> Worded:
    """Word a number that is too large or too small."""
    kind = "integer" if isinstance(limit, int) else "decimal"
    name, code = ("above maximum", "above_max") if "<" in sign else ("below minimum", "below_min")
    bound = str(limit) if isinstance(limit, int) else f"{limit:g}"
    message = f"Invalid '{path}': {kind} {name} value. Expected a value {sign} {bound}, but got {value} instead."
    return message, f"{kind}_{code}_value"
