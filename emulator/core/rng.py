"""Keyed draws: every random-looking value is a hash of its key, never the next of a generator.

``blake2b`` and not ``hash()``, which is salted per process: the same key gives the same value in
every process, on every machine and Python version.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import blake2b
from types import EllipsisType

_ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TWO, _FIVE = 62**2, 62**5  # letters; so many are the most whose number is quickly worked with
_PAIRS = [low + high for high in _ALPHANUMERIC for low in _ALPHANUMERIC]  # numbers below 62**2, the lower digit first
_LONGEST = 65_536  # characters of a part

_UNUSED = blake2b(digest_size=16)  # to copy it costs less than to begin another
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))

Part = bytes | str | int | float | None


def derive_key(*parts: Part) -> bytes:
    """The 16-byte key of ``parts``; a key of a key is again a key.

    Parts of different types or split at different places never give the same key. ``ascii`` and not
    ``repr``, which escapes other characters in every Unicode version.
    """
    return derive_key_from_bytes(ascii(parts).encode())


def derive_key_from_bytes(parts: bytes) -> bytes:
    """:func:`derive_key` of parts that are written as ``ascii`` writes them."""
    digest = _UNUSED.copy()
    digest.update(parts)
    return digest.digest()


def digest_long(text: str) -> str:
    """What stands for a text in a key: itself, or of a long one its digest, as a key writes each of its parts twice."""
    if len(text) <= _LONGEST:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def prepare_key(*parts: Part | EllipsisType) -> Callable[..., bytes]:
    """:func:`derive_key` where most of the parts are known beforehand, at half its cost.

    It takes those that are not, for each of which ``...`` stands here: there are two parts or more.
    """
    pattern = b"(%b)" % b", ".join([b"%a" if part is ... else _escape(part) for part in parts])

    def derive_prepared(*given: Part) -> bytes:
        digest = _UNUSED.copy()
        digest.update(pattern % given)
        return digest.digest()

    return derive_prepared


def _escape(part: Part | EllipsisType) -> bytes:
    return ascii(part).encode().replace(b"%", b"%%")


def draw_uniform(key: bytes, *name: Part) -> float:
    """A number in [0, 1) with 53 bits."""
    return (int.from_bytes(derive_key(key, *name)[:8], "big") >> 11) * 2.0**-53


def draw_integer(key: bytes, below: int, *name: Part) -> int:
    """An integer in [0, below); the bias of the modulo is below 2**-64 for any ``below`` in use."""
    return int.from_bytes(derive_key(key, *name), "big") % below


def draw_hex(key: bytes, *name: Part, digits: int = 32) -> str:
    """``digits`` lower-case hex digits, at most 32."""
    return derive_key(key, *name).hex()[:digits]


def draw_uuid(key: bytes, *name: Part) -> str:
    """A version 4 UUID in the usual form."""
    return format_uuid(derive_key(key, *name))


def format_uuid(bits: bytes) -> str:
    """The version 4 UUID that a key stands for."""
    text = bits.hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


def draw_opaque(key: bytes, *name: Part) -> str:
    """128 characters that mean something only to a service: signatures, encrypted texts."""
    return urlsafe_b64encode(b"".join([derive_key(key, *name, part) for part in range(6)])).decode()


def draw_alphanumeric(key: bytes, count: int, *name: Part) -> str:
    """``count`` characters of 0-9A-Za-z, at most 40."""
    number = int.from_bytes(blake2b(ascii((key, *name)).encode(), digest_size=32).digest(), "big")
    letters: list[str] = []
    for _ in range(0, count, 5):
        number, five = divmod(number, _FIVE)
        two, one = divmod(five, _TWO)
        letters += (_PAIRS[one], _PAIRS[two % _TWO], _ALPHANUMERIC[two // _TWO])
    return "".join(letters)[:count]
