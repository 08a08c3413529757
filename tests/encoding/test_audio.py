"""Silence, part by part as players read it."""

import struct

import pytest

from emulator.encoding.audio import ENCODERS, SAMPLE_RATE, SAMPLES_PER_TOKEN, encode_aac, encode_flac, encode_opus


@pytest.mark.parametrize("form", sorted(ENCODERS))
@pytest.mark.parametrize("tokens", [0, 1, 5])
def test_zero_tokens_encode_as_one(form: str, tokens: int) -> None:
    assert len(ENCODERS[form](tokens)) >= 11
    assert ENCODERS[form](0) == ENCODERS[form](1)


def test_flac() -> None:
    sound = encode_flac(200)
    assert (sound[:5], int.from_bytes(sound[5:8], "big")) == (b"fLaC\x80", 34)
    packed = int.from_bytes(sound[18:26], "big")
    assert (packed >> 44, packed & (1 << 36) - 1) == (SAMPLE_RATE, 200 * SAMPLES_PER_TOKEN)
    assert sound[42:].count(b"\xff\xf8\x77\x08") == 200
    assert (sound[49], struct.unpack(">H", sound[53:55])[0]) == (0x35, 0xBA7A)  # checked with FFmpeg


def test_opus() -> None:
    pages = encode_opus(120).split(b"OggS")[1:]
    assert [page[1] for page in pages] == [2, 0, 0, 0, 4]
    assert [struct.unpack("<I", page[14:18])[0] for page in pages] == [0, 1, 2, 3, 4]
    assert struct.unpack("<q", pages[-1][2:10])[0] == 120 * 960  # at 48 kHz
    assert pages[0][24:32] == b"OpusHead"


def test_aac() -> None:
    frames = encode_aac(100)
    assert len(frames) == 11 * -(-100 * SAMPLES_PER_TOKEN // 1024)
    head = int.from_bytes(frames[:7], "big")
    assert (head >> 44, head >> 34 & 15, head >> 13 & 0x1FFF) == (0xFFF, 6, 11)
