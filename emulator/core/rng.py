"""Keyed random draws: every value is a hash of its key, independent of earlier draws.

Keys come from ``blake2b``, because ``hash()`` is salted per process: the same key gives the same value in
every process, on every machine and Python version.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import blake2b
from types import EllipsisType

_ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TWO, _FIVE = 62**2, 62**5  # numbers of two and of five characters; the latter fits in 32 bits
_PAIRS = [low + high for high in _ALPHANUMERIC for low in _ALPHANUMERIC]  # numbers below 62**2, lower digit first
_MAX_PART = 65_536  # characters of a part that is hashed as it is

_EMPTY = blake2b(digest_size=16)  # copying it costs less than creating another
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))

Part = bytes | str | int | float | None


def derive_key(*parts: Part) -> bytes:
    """Return the 16-byte key of ``parts``; a key may itself be a part.

    Parts of different types, or split at different positions, never give the same key. They are encoded with
    ``ascii``, because the escapes of ``repr`` depend on the Unicode version.
    """
    return derive_key_from_bytes(ascii(parts).encode())


def derive_key_from_bytes(parts: bytes) -> bytes:
    """Return :func:`derive_key` of parts that are already encoded as ``ascii`` encodes their tuple."""
    digest = _EMPTY.copy()
    digest.update(parts)
    return digest.digest()


def digest_long(text: str) -> str:
    """Return a text to use as a part of a key: itself, or its digest if it is long, to spare two copies of it."""
    if len(text) <= _MAX_PART:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def prepare_key(*parts: Part | EllipsisType) -> Callable[..., bytes]:
    """Return a function that derives keys in which only the parts given as ``...`` vary, at half the cost.

    The function takes the varying parts in order and returns the same as :func:`derive_key`. There are at least
    two parts.
    """
    pattern = b"(%b)" % b", ".join([b"%a" if part is ... else _escape(part) for part in parts])

    def derive_prepared(*varying: Part) -> bytes:
        digest = _EMPTY.copy()
        digest.update(pattern % varying)
        return digest.digest()

    return derive_prepared


def _escape(part: Part | EllipsisType) -> bytes:
    return ascii(part).encode().replace(b"%", b"%%")


def draw_uniform(key: bytes, *name: Part) -> float:
    """Draw a float in [0, 1) with 53 random bits."""
    return (int.from_bytes(derive_key(key, *name)[:8], "big") >> 11) * 2.0**-53


def draw_integer(key: bytes, below: int, *name: Part) -> int:
    """Draw an integer in [0, below); the bias of the modulo is below 2**-64 for any ``below`` in use."""
    return int.from_bytes(derive_key(key, *name), "big") % below


def draw_hex(key: bytes, *name: Part, digits: int = 32) -> str:
    """Draw ``digits`` lower-case hex digits, at most 32."""
    return derive_key(key, *name).hex()[:digits]


def draw_uuid(key: bytes, *name: Part) -> str:
    """Draw a version 4 UUID."""
    return format_uuid(derive_key(key, *name))


def format_uuid(bits: bytes) -> str:
    """Format a 16-byte key as a version 4 UUID."""
    digits = bits.hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"


def draw_opaque(key: bytes, *name: Part) -> str:
    """Draw 128 characters of URL-safe base64, as for signatures and encrypted content."""
    return urlsafe_b64encode(b"".join([derive_key(key, *name, part) for part in range(6)])).decode()


def draw_alphanumeric(key: bytes, count: int, *name: Part) -> str:
    """Draw ``count`` characters of 0-9A-Za-z, at most 40."""
    number = int.from_bytes(blake2b(ascii((key, *name)).encode(), digest_size=32).digest(), "big")
    letters: list[str] = []
    for _ in range(0, count, 5):
        number, five = divmod(number, _FIVE)
        two, one = divmod(five, _TWO)
        letters += (_PAIRS[one], _PAIRS[two % _TWO], _ALPHANUMERIC[two // _TWO])
    return "".join(letters)[:count]
