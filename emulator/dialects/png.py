"""Small pictures that any viewer opens."""

import struct
import zlib

from emulator.core.seed import draw_integer

_BLOCKS = 8  # fields of one colour along each side
_COLOURS = 4


def draw_png(key: bytes, width: int, height: int) -> bytes:
    """A picture of coloured fields, the same for the same key; a few kilobytes whatever its size.

    Source: W3C, "PNG Specification": an indexed picture of two bits a pixel.
    """
    palette = bytes([draw_integer(key, 256, "colour", number) for number in range(3 * _COLOURS)])
    rows = [_draw_row(key, row, width) for row in range(_BLOCKS)]
    pixels = b"".join([rows[y * _BLOCKS // height] for y in range(height)])
    head = struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join([_chunk(name, data) for name, data in chunks])


def _draw_row(key: bytes, row: int, width: int) -> bytes:
    """One line of pixels, four to a byte, behind the byte that says it is not filtered."""
    colours = [draw_integer(key, _COLOURS, "field", row, column) for column in range(_BLOCKS)]
    line = [colours[x * _BLOCKS // width] for x in range(width)] + [0] * (-width % 4)
    packed = [line[x] << 6 | line[x + 1] << 4 | line[x + 2] << 2 | line[x + 3] for x in range(0, len(line), 4)]
    return bytes((0, *packed))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
