"""Pictures of one colour, part by part as viewers read them."""

import struct

import pytest

from emulator.encoding.images import IMAGE_ENCODERS, draw_jpeg, draw_webp

SIZES = [(1, 1), (7, 3), (1024, 1536)]


@pytest.mark.parametrize("size", SIZES)
def test_jpeg(size: tuple[int, int]) -> None:
    picture = draw_jpeg(b"key", *size)
    frame = picture.index(b"\xff\xc0")
    height, width = struct.unpack(">HH", picture[frame + 5 : frame + 9])
    assert ((width, height), picture[:2], picture[-2:]) == (size, b"\xff\xd8", b"\xff\xd9")
    scan = picture[picture.index(b"\xff\xda") + 10 : -2].replace(b"\xff\x00", b"\xff")
    bits = "".join(format(byte, "08b") for byte in scan)
    category = bits.index("0")
    first, blocks = 2 * category + 2, -(-width // 8) * -(-height // 8)
    assert bits[first : first + 2 * (blocks - 1)] == "00" * (blocks - 1)
    assert len(bits) - first - 2 * (blocks - 1) < 8
    assert set(bits[first + 2 * (blocks - 1) :]) <= {"1"}


@pytest.mark.parametrize("size", SIZES)
def test_webp(size: tuple[int, int]) -> None:
    picture = draw_webp(b"key", *size)
    assert (picture[:4], picture[8:16]) == (b"RIFF", b"WEBPVP8L")
    assert struct.unpack("<I", picture[4:8])[0] == len(picture) - 8
    head = int.from_bytes(picture[20:25], "little")
    assert (head & 0xFF, (head >> 8 & 0x3FFF) + 1, (head >> 22 & 0x3FFF) + 1) == (0x2F, *size)


@pytest.mark.parametrize("form", sorted(IMAGE_ENCODERS))
def test_same_key_draws_same_image(form: str) -> None:
    draw = IMAGE_ENCODERS[form]
    assert draw(b"key", 8, 8) == draw(b"key", 8, 8) != draw(b"other", 8, 8)
