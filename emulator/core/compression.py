"""Decompress request bodies (``Content-Encoding``) up to a maximum size.

Requests to vendors and to the control API may be compressed with gzip or deflate.
"""

import zlib

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # zlib's ``wbits`` per format
_RAW = -15  # ``wbits`` of deflate without a zlib header, which some clients send as ``deflate``


async def unpack(body: bytes, encoding: str, max_size: int) -> bytes:
    """Decompress a body by its ``Content-Encoding``; return a body that cannot be decompressed unchanged.

    Raises:
        EmulatedError: ``PAYLOAD_TOO_LARGE``: the result exceeds ``max_size`` bytes.
    """
    window = _WINDOWS.get(encoding.strip().lower())
    if window is None or not body:
        return body
    if window == 15 and body[0] & 0x0F != zlib.DEFLATED:
        window = _RAW
    is_short = len(body) <= INLINE_BYTES // 64  # deflate expands at most about a thousandfold
    whole = _inflate(body, window, max_size) if is_short else await run_in_thread(_inflate, body, window, max_size)
    if whole is None:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": max_size})
    return whole


def _inflate(body: bytes, window: int, max_size: int) -> bytes | None:
    """Return the decompressed body; the body itself if it is not in that format; ``None`` beyond ``max_size``."""
    unpacker = zlib.decompressobj(window)
    try:
        whole = unpacker.decompress(body, max_size + 1)
    except zlib.error:
        return body
    if len(whole) > max_size:
        return None
    return whole if unpacker.eof else body
