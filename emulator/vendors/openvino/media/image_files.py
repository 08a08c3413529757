"""Write the PNG files of generated images, with the same bytes on every machine."""

import hashlib
from struct import pack
from zlib import adler32, crc32

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STORED = 65535  # maximum bytes of a stored block
_TILE = 32  # pixels; height of a tile, which is eight wide


def draw_png(width: int, height: int, key: bytes) -> bytes:
    """Draw tiles of two colours from ``key``, one bit per pixel; uncompressed, as zlib versions differ in bytes."""
    drawn = hashlib.sha256(key).digest()
    row_bytes = (width + 7) // 8
    rows = []
    for band in range(0, height, _TILE):
        pattern = bytes([drawn[(band // _TILE + tile) % len(drawn)] for tile in range(4)])
        row = b"\0" + (pattern * (row_bytes // len(pattern) + 1))[:row_bytes]
        rows.append(row * min(_TILE, height - band))
    head = pack(">IIBBBBB", width, height, 1, 3, 0, 0, 0)
    chunks = (
        _encode_chunk(b"IHDR", head),
        _encode_chunk(b"PLTE", drawn[:6]),
        _encode_chunk(b"IDAT", _store(b"".join(rows))),
    )
    return _SIGNATURE + b"".join(chunks) + _encode_chunk(b"IEND", b"")


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def _store(data: bytes) -> bytes:
    """Encode a zlib stream of stored blocks."""
    blocks = []
    for start in range(0, len(data), _STORED):
        block = data[start : start + _STORED]
        last = start + _STORED >= len(data)
        blocks.append(pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"\x78\x01" + b"".join(blocks) + pack(">I", adler32(data))
