"""Format values as Rust does, for error texts: JSON as serde_json writes it, and the ``Debug`` form of a value.

Source: serde_json 1, ``src/ser.rs`` and ``src/value/mod.rs`` (Debug); ryu 1, ``src/pretty/mod.rs`` (format64).
"""

from emulator.core.json import JSON, dump_string

_MAX_PLAIN = 16  # digits before the decimal point of a float written without an exponent
_MIN_PLAIN = -5  # of zeros after it


def format_float(value: float) -> str:
    """Format a finite float as ryu does: ``1000.0``, ``0.00001``, ``1e16``, ``1.8446744073709552e19``."""
    if value == 0.0:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= _MAX_PLAIN:
        return f"{sign}{digits}{'0' * (point - len(digits))}.0"
    if 0 < point <= _MAX_PLAIN:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"


def format_plain_float(value: float) -> str:
    """Format a finite float as ``Display`` does: all its digits, ``1000`` for ``1000.0``."""
    text = format_float(value)
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text.removesuffix(".0")
    sign = "-" if value < 0 else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    power = int(exponent)
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{whole}{fraction}"
    return f"{sign}{whole}{fraction.ljust(power, '0')}"


def format_json(value: JSON) -> str:
    """Format a value as compact JSON."""
    if isinstance(value, dict):
        return "{" + ",".join([f"{_quote(key)}:{format_json(inner)}" for key, inner in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([format_json(inner) for inner in value]) + "]"
    return _quote(value) if isinstance(value, str) else _format_literal(value)


def format_debug(value: JSON) -> str:
    """Format a value in its ``Debug`` form: ``Object {"a": Number(1), "b": Array [Null, Bool(true)]}``."""
    if isinstance(value, dict):
        return "Object {" + ", ".join([f"{quote(key)}: {format_debug(inner)}" for key, inner in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "Array [" + ", ".join([format_debug(inner) for inner in value]) + "]"
    if isinstance(value, str):
        return f"String({quote(value)})"
    if value is None:
        return "Null"
    return f"{'Bool' if isinstance(value, bool) else 'Number'}({_format_literal(value)})"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def quote(text: str) -> str:
    """Return a string in its ``Debug`` form; characters that cannot be printed become ``\\u{…}``."""
    return '"' + "".join([_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text]) + '"'


def _quote(text: str) -> str:
    return dump_string(text).decode()


def _format_literal(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(2**63) <= value < 2**64 else format_float(float(value))
    return format_float(value) if isinstance(value, float) else str(value)
