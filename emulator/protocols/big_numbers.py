"""Cheap check of a JSON body for numbers that may be beyond the range of doubles.

The JSON libraries of MindIE and of OpenVINO Model Server refuse a body with such a number at any depth; that of
``core/json.py`` accepts it.
"""

_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_EXPONENT = b"0e000"  # with the digit before it; the greatest double is about 1.8e308
_LONG = b"0" * 200  # a whole number this long exceeds doubles with an exponent of two digits


def has_big_numbers(text: bytes) -> bool:
    """Return whether a number may be too big: an exponent of three digits, or 200 digits, also in a string."""
    digits = text.translate(_DIGITS, b"+")
    return _EXPONENT in digits or _LONG in digits
