"""A body that comes compressed, unpacked within bounds."""

from __future__ import annotations

import zlib

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # zlib's words for the wrapper
_RAW = -15  # none: what some clients mean by deflate


async def unpack(body: bytes, encoding: str, most: int) -> bytes:
    """The body without its ``Content-Encoding``; one that cannot be unpacked stays as it is.

    A vendor that unpacks nothing reads the same: bytes that are no JSON.

    Raises:
        EmulatedError: ``PAYLOAD_TOO_LARGE``, it would be more than ``most`` bytes.
    """
    window = _WINDOWS.get(encoding.strip().lower())
    if window is None or not body:
        return body
    if window == 15 and body[0] & 0x0F != zlib.DEFLATED:
        window = _RAW
    light = len(body) <= INLINE_BYTES // 64  # nothing grows more than a thousandfold
    whole = _inflate(body, window, most) if light else await run_in_thread(_inflate, body, window, most)
    if whole is None:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": most})
    return whole


def _inflate(body: bytes, window: int, most: int) -> bytes | None:
    """What was packed, never made if it is more than ``most`` bytes; the body itself if it is not packed so."""
    unpacker = zlib.decompressobj(window)
    try:
        whole = unpacker.decompress(body, most + 1)
    except zlib.error:
        return body
    if len(whole) > most:
        return None
    return whole if unpacker.eof else body
