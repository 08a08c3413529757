"""Measure the duration of audio files: WAV, MP3, FLAC, Ogg, MP4 and WebM.

Transcription counts tokens by the seconds. ``audio.py`` encodes audio.

Sources: model_server, src/audio/audio_utils.cpp with dr_wav and dr_mp3 (texts of errors of WAV and MP3); RFC 9639
(FLAC), RFC 3533, RFC 7845 and the Vorbis I specification (Ogg), ISO/IEC 14496-12 (MP4), RFC 8794 and RFC 9559 (WebM).
"""

from collections.abc import Callable
from struct import error, unpack_from

_BITRATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)  # kbit/s of MPEG-1 layer III
_ID3_HEAD = 10  # bytes
_OPUS_RATE = 48_000  # granules a second
_USUAL_RATE = 4000  # bytes a second of speech; for recordings whose head has no duration
_MILLION = 1_000_000  # nanoseconds of a time unit of WebM
_EBML, _EBML_DURATION, _EBML_SCALE = b"\x1a\x45\xdf\xa3", b"\x44\x89", b"\x2a\xd7\xb1"


def is_wav(data: bytes) -> bool:
    """Return whether the header is WAV's and states the right length."""
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE" and unpack_from("<I", data, 4)[0] + 8 == len(data)


def measure_wav(data: bytes) -> float:
    """Return the duration of a WAV file in seconds.

    Raises:
        ValueError: it is none, or has a format that speech models cannot read.
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
        ValueError: it is none, or has a format that speech models cannot read.
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


def _measure_flac(data: bytes) -> float:
    """Return the samples over the sample rate, both of the first metadata block."""
    (packed,) = unpack_from(">Q", data, 18)
    rate: int = packed >> 44
    samples: int = packed & 0xF_FFFF_FFFF
    return samples / rate


def _measure_ogg(data: bytes) -> float:
    """Return the last page's granule position over the granules a second; those of Opus are always 48,000."""
    rate = _OPUS_RATE
    head = data.find(b"\x01vorbis")
    if b"OpusHead" not in data[:64] and head >= 0:
        (rate,) = unpack_from("<I", data, head + 12)
    (position,) = unpack_from("<q", data, data.rindex(b"OggS") + 6)
    return max(0, int(position)) / rate


def _measure_mp4(data: bytes) -> float:
    """Return the duration over the time scale, both of the movie header."""
    start = data.index(b"mvhd") + 4
    scale, duration = unpack_from(">IQ", data, start + 20) if data[start] == 1 else unpack_from(">II", data, start + 12)
    return float(duration / scale) or len(data) / _USUAL_RATE


def _measure_webm(data: bytes) -> float:
    """Return the duration of the segment; a recorder that writes its head first leaves it out."""
    at, scale_at = data.find(_EBML_DURATION), data.find(_EBML_SCALE)
    if at < 0:
        return len(data) / _USUAL_RATE
    size = data[at + 2] & 0x7F
    (duration,) = unpack_from(">d" if size == 8 else ">f", data, at + 3)
    scale = _MILLION
    if scale_at >= 0:
        width = data[scale_at + 3] & 0x7F
        scale = int.from_bytes(data[scale_at + 4 : scale_at + 4 + width], "big")
    return float(duration * scale / 1e9)


_MEASURES: tuple[tuple[Callable[[bytes], bool], Callable[[bytes], float]], ...] = (
    (lambda data: data[:4] == b"RIFF", measure_wav),
    (lambda data: data[:4] == b"fLaC", _measure_flac),
    (lambda data: data[:4] == b"OggS", _measure_ogg),
    (lambda data: data[4:8] == b"ftyp", _measure_mp4),
    (lambda data: data[:4] == _EBML, _measure_webm),
)


def measure_any(data: bytes) -> float:
    """Return the duration in seconds of an audio file in the format of its first bytes; MP3 if they are of none.

    Raises:
        ValueError: it cannot be read.
    """
    measure = next((measure for fits, measure in _MEASURES if fits(data)), measure_mp3)
    try:
        return measure(data)
    except (error, ValueError, ZeroDivisionError, IndexError):
        raise ValueError("The audio file cannot be read") from None
