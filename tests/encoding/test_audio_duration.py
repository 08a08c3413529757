"""Durations of audio files."""

import struct

import pytest

from emulator.encoding.audio import encode_flac, encode_opus
from emulator.encoding.audio_duration import measure_any
from emulator.vendors.azure.chat.audio import encode_silence


def make_mp4(version: int, scale: int, duration: int) -> bytes:
    times = struct.pack(">QQIQ" if version else ">IIII", 0, 0, scale, duration)
    return b"\0\0\0\x18ftypM4A \0\0\0\0" + b"\0\0\0\x6cmvhd" + bytes((version, 0, 0, 0)) + times


def make_webm(duration: float | None, scale: int | None) -> bytes:
    data = b"\x1a\x45\xdf\xa3\x80"
    if scale is not None:
        data += b"\x2a\xd7\xb1\x83" + scale.to_bytes(3, "big")
    return data if duration is None else data + b"\x44\x89\x88" + struct.pack(">d", duration)


def make_vorbis(rate: int, samples: int) -> bytes:
    head = b"OggS\0\x02" + bytes(20) + b"\x01\x1e" + b"\x01vorbis" + struct.pack("<IBI", 0, 1, rate) + bytes(14)
    return head + b"OggS\0\x04" + struct.pack("<q", samples) + bytes(14)


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        pytest.param(encode_silence(100, "wav"), 2.0, id="wav"),
        pytest.param(encode_flac(100), 2.0, id="flac"),
        pytest.param(encode_opus(100), 2.0, id="opus"),
        pytest.param(make_vorbis(44_100, 22_050), 0.5, id="vorbis"),
        pytest.param(encode_silence(100, "mp3"), 100 * 417 / 16_000, id="mp3"),
        pytest.param(make_mp4(0, 1000, 2500), 2.5, id="mp4"),
        pytest.param(make_mp4(1, 48_000, 480_000), 10.0, id="mp4 with long times"),
        pytest.param(make_mp4(0, 1000, 0) + bytes(4000 - 52), 1.0, id="mp4 of a recorder"),
        pytest.param(make_webm(1500.0, None), 1.5, id="webm"),
        pytest.param(make_webm(15.0, 2_000_000), 0.03, id="webm with its own unit"),
        pytest.param(make_webm(None, 1_000_000) + bytes(8000 - 12), 2.0, id="webm of a recorder"),
    ],
)
def test_duration_by_format(data: bytes, seconds: float) -> None:
    assert measure_any(data) == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(
    "data",
    [b"", b"RIFF", b"fLaC" + bytes(40), b"OggS", b"\0\0\0\x18ftypM4A ", b"junk", b"\x1a\x45\xdf\xa3\x44\x89\x88"],
)
def test_broken_file_has_no_duration(data: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        measure_any(data)
