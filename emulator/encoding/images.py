"""Draw small PNG, JPEG and WebP images from a key, and read the size of image files.

The image routes of Azure and OpenVINO answer with them.
"""

import struct
import zlib
from collections.abc import Callable, Mapping

from emulator.core.rng import draw_integer

_FIELDS = 8  # fields of one colour along each side of a PNG
_COLOURS = 4
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NO_FRAMES = (0xFFC4, 0xFFC8, 0xFFCC)  # JPEG markers in the range of frame markers


def draw_png(key: bytes, width: int, height: int) -> bytes:
    """Return a PNG of coloured fields, equal for equal keys, a few kilobytes at any size.

    Source: W3C, "PNG Specification": an indexed picture of two bits a pixel.
    """
    palette = bytes([draw_integer(key, 256, "colour", number) for number in range(3 * _COLOURS)])
    rows = [_encode_row(key, row, width) for row in range(_FIELDS)]
    pixels = b"".join([rows[y * _FIELDS // height] for y in range(height)])
    head = struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join([_encode_chunk(name, data) for name, data in chunks])


def _encode_row(key: bytes, row: int, width: int) -> bytes:
    """Return one line of pixels, four to a byte, after the byte of filter type 0 (none)."""
    colours = [draw_integer(key, _COLOURS, "field", row, column) for column in range(_FIELDS)]
    line = [colours[x * _FIELDS // width] for x in range(width)] + [0] * (-width % 4)
    packed = [line[x] << 6 | line[x + 1] << 4 | line[x + 2] << 2 | line[x + 3] for x in range(0, len(line), 4)]
    return bytes((0, *packed))


def _encode_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
_BLOCK = 8  # pixels along each side of a JPEG block


def draw_jpeg(key: bytes, width: int, height: int) -> bytes:
    """Return a grey JPEG: the first block sets the brightness, all others have a difference of zero."""
    step = draw_integer(key, 1023, "brightness") - 511
    bits = _format_first_block(step)
    blocks = -(-width // _BLOCK) * -(-height // _BLOCK)
    bits += "00" * (blocks - 1)  # no difference, no detail
    bits += "1" * (-len(bits) % 8)
    scan = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00")
    return b"".join(
        (
            b"\xff\xd8",
            _JFIF,
            b"\xff\xdb\x00\x43\x00" + b"\x01" * 63 + b"\x01",
            b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", height, width) + b"\x01\x01\x11\x00",
            b"\xff\xc4" + struct.pack(">H", 3 + 16 + 10) + b"\x00" + _LENGTHS + bytes(range(10)),
            b"\xff\xc4" + struct.pack(">H", 3 + 16 + 1) + b"\x10\x01" + bytes(15) + b"\x00",
            b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00",
            scan,
            b"\xff\xd9",
        )
    )


_LENGTHS = b"\x01" * 9 + b"\x01" + bytes(6)  # codes 0, 10, 110, …: one of each length, one per category


def _format_first_block(step: int) -> str:
    """Return the bits of the first block: the size category of its brightness, the value, the end of the block."""
    size = abs(step).bit_length()
    value = step if step >= 0 else step + (1 << size) - 1
    return "1" * size + "0" + (format(value, f"0{size}b") if size else "") + "0"


def draw_webp(key: bytes, width: int, height: int) -> bytes:
    """Return a lossless WebP of one colour: each alphabet has one symbol, so a pixel takes no bits."""
    green, red, blue = (draw_integer(key, 256, "colour", number) for number in range(3))
    fields = [(0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 1), (0, 3), (0, 1), (0, 1), (0, 1)]
    for letter in (green, red, blue, 255, 0):
        fields += [(1, 1), (0, 1), (1, 1), (letter, 8)]
    value = at = 0
    for number, bits in fields:
        value |= number << at
        at += bits
    data = value.to_bytes(-(-at // 8), "little")
    chunk = b"VP8L" + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


IMAGE_ENCODERS: Mapping[str, Callable[[bytes, int, int], bytes]] = {
    "png": draw_png,
    "jpeg": draw_jpeg,
    "webp": draw_webp,
}


def measure_picture(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, BMP or JPEG file; ``None`` if they cannot be read."""
    try:
        if data.startswith(_SIGNATURE):
            width, height = struct.unpack_from(">II", data, 16)
        elif data.startswith(b"GIF8"):
            width, height = struct.unpack_from("<HH", data, 6)
        elif data.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", data, 18)
        else:
            width, height = _measure_jpeg(data)
    except struct.error:
        return None
    return width, abs(height)  # a BMP file with rows from the top has a negative height


def _measure_jpeg(data: bytes) -> tuple[int, int]:
    position = 2
    while True:
        marker, length = struct.unpack_from(">HH", data, position)
        if 0xFFC0 <= marker <= 0xFFCF and marker not in _NO_FRAMES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        position += 2 + length


def measure_webp(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a WebP file; ``None`` if they cannot be read.

    Source: RFC 9649: lossless, lossy and extended files.
    """
    kind = data[12:16] if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else b""
    try:
        if kind == b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        if kind == b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        if kind == b"VP8X" and len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    except struct.error:
        return None
    return None
