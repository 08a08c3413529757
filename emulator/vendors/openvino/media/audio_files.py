"""Read WAV and MP3 files, and write the WAV files of generated speech.

Source: model_server, src/audio/audio_utils.cpp, with dr_wav and dr_mp3 below it.
"""

from __future__ import annotations

from base64 import b64encode
from struct import Struct, error, pack, unpack_from

from emulator.core.dataclass import fast_dataclass

_FLOAT = 3  # WAVE_FORMAT_IEEE_FLOAT
_BITRATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)  # kbit/s of MPEG-1 layer III
_ID3_HEAD = 10  # bytes
_OMNI_RATE = 24000  # samples a second
_SECONDS_PER_CHARACTER = 0.05
_MAX_SECONDS = 60.0  # seconds; speech models have a bounded context, too


@fast_dataclass(frozen=True, slots=True)
class Voice:
    """Audio format of a response: WAV, or headerless ``pcm``; ``writes``: the response also has its text."""

    pcm: bool
    writes: bool

    def say(self, text: str) -> bytes:
        """Return the speech of ``text`` in base64."""
        sound = speak(text, "", 1.0, _OMNI_RATE)
        return b64encode(to_pcm(sound) if self.pcm else write_wav(sound, _OMNI_RATE))


def measure_sound(data: bytes, form: str) -> float:
    """Return the duration of a ``wav`` or ``mp3`` file in seconds.

    Raises:
        ValueError: the server cannot read it; the text is the server's.
    """
    if form == "wav":
        return measure_wav(data)
    if form == "mp3":
        return measure_mp3(data)
    raise ValueError(f"Unsupported audio format: {form}")


def is_wav(data: bytes) -> bool:
    """Return whether the header is WAV's and states the right length."""
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE" and unpack_from("<I", data, 4)[0] + 8 == len(data)


def measure_wav(data: bytes) -> float:
    """Return the duration of a WAV file in seconds.

    Raises:
        ValueError: with the server's text.
    """
    try:
        chunks = _find_chunks(data)
        _, channels, rate, _, _, bits = unpack_from("<HHIIHH", chunks[b"fmt "])
        frames = len(chunks[b"data"]) * 8 // (channels * bits)
        seconds: float = frames / rate
    except (error, KeyError, ZeroDivisionError):
        raise ValueError("WAV file parsing failed") from None
    if channels not in (1, 2):
        raise ValueError("WAV file must be mono or stereo")
    if bits < 8 or bits % 8:
        raise ValueError("WAV file has unsupported bits per sample")
    return seconds


def _find_chunks(data: bytes) -> dict[bytes, bytes]:
    chunks: dict[bytes, bytes] = {}
    position = 12 if data[:4] == b"RIFF" and data[8:12] == b"WAVE" else len(data)
    while position + 8 <= len(data):
        (size,) = unpack_from("<I", data, position + 4)
        chunks.setdefault(data[position : position + 4], data[position + 8 : position + 8 + size])
        position += 8 + size + size % 2
    return chunks


def measure_mp3(data: bytes) -> float:
    """Return the duration of an MP3 file in seconds, by the bit rate of its first frame.

    Raises:
        ValueError: with the server's text.
    """
    start = 0
    if data[:3] == b"ID3" and len(data) > _ID3_HEAD:
        size = 0
        for part in data[6:_ID3_HEAD]:
            size = size * 128 + part
        start = _ID3_HEAD + size
    start = data.find(b"\xff", start)
    while 0 <= start < len(data) - 3:
        second, third = data[start + 1], data[start + 2]
        if second & 0xE6 == 0xE2 and third & 0x0C != 0x0C and 0 < third >> 4 < len(_BITRATES):
            return (len(data) - start) * 8 / (_BITRATES[third >> 4] * 1000)
        start = data.find(b"\xff", start + 1)
    raise ValueError("MP3 file parsing failed")


def write_wav(samples: bytes, rate: int) -> bytes:
    """Encode a WAV file of one channel of 32-bit floats, as dr_wav does."""
    body = b"WAVE" + b"fmt " + pack("<IHHIIHH", 16, _FLOAT, 1, rate, rate * 4, 4, 32)
    body += b"data" + pack("<I", len(samples)) + samples
    return b"RIFF" + pack("<I", len(body)) + body


def speak(text: str, voice: str, speed: float, rate: int) -> bytes:
    """Generate a hum as long as the speech, as 32-bit floats.

    A triangle wave, with a period that depends on the voice.
    """
    period = 60 + sum(voice.encode()) % 60  # samples
    half = period // 2
    wave = [(step if step < half else period - step) / period - 0.25 for step in range(period)]
    seconds = max(1, len(text)) * _SECONDS_PER_CHARACTER / speed if speed > 0 else _MAX_SECONDS
    count = int(min(seconds, _MAX_SECONDS) * rate)
    whole = Struct(f"<{period}f").pack(*wave) * (count // period + 1)
    return whole[: 4 * count]


def to_pcm(samples: bytes) -> bytes:
    """Convert 32-bit floats to 16-bit samples without a header."""
    values = Struct(f"<{len(samples) // 4}f").unpack(samples)
    return Struct(f"<{len(values)}h").pack(*[int(min(1.0, max(-1.0, value)) * 32767.0) for value in values])
