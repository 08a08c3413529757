"""Encode silence as FLAC, Opus and AAC without an audio library, for answers in audio.

Sources: RFC 9639 (FLAC), RFC 7845 and RFC 3533 (Opus in Ogg), ISO/IEC 13818-7 (AAC with ADTS headers).
"""

import struct
from collections.abc import Callable

SAMPLE_RATE = 24_000  # samples a second, one channel
SAMPLES_PER_TOKEN = 480  # samples: twenty milliseconds
_AAC_FRAME = 1024  # samples
_AAC_SILENCE = b"\x00\x00\x00\x07"  # one channel without any band, then the end marker
_OPUS_SILENCE = b"\xf8\xff\xfe"  # twenty milliseconds of silence
_OPUS_RATE = 48_000  # Opus timestamps count at 48 kHz for every sample rate
_OPUS_SKIP = 312  # samples of that clock that a player skips
_PAGE = 50  # packets
_SERIAL = 1  # the only stream in the file


def _build_crc_table(polynomial: int, bits: int) -> list[int]:
    """Return the CRC remainders of all 256 bytes, most significant bit first."""
    top, mask = 1 << (bits - 1), (1 << bits) - 1
    table = []
    for byte in range(256):
        rest = byte << (bits - 8)
        for _ in range(8):
            rest = ((rest << 1) ^ polynomial if rest & top else rest << 1) & mask
        table.append(rest)
    return table


_CRC_8, _CRC_16, _CRC_32 = _build_crc_table(0x07, 8), _build_crc_table(0x8005, 16), _build_crc_table(0x04C11DB7, 32)


def _crc(data: bytes, table: list[int], bits: int) -> int:
    rest, mask = 0, (1 << bits) - 1
    for byte in data:
        rest = (rest << 8 & mask) ^ table[(rest >> (bits - 8) ^ byte) & 0xFF]
    return rest


def encode_flac(tokens: int) -> bytes:
    """Return a FLAC file of ``tokens`` frames, each a constant subframe of zeros."""
    blocks = max(1, tokens)
    sizes = struct.pack(">HH", SAMPLES_PER_TOKEN, SAMPLES_PER_TOKEN) + bytes(6)
    packed = SAMPLE_RATE << 44 | 0 << 41 | 15 << 36 | blocks * SAMPLES_PER_TOKEN
    info = sizes + packed.to_bytes(8, "big") + bytes(16)
    return b"fLaC\x80" + len(info).to_bytes(3, "big") + info + b"".join([_encode_flac_frame(n) for n in range(blocks)])


def _encode_flac_frame(number: int) -> bytes:
    """Return a frame: 24 kHz, one channel of 16 bits, its length in two bytes after the frame number."""
    head = b"\xff\xf8\x77\x08" + chr(number).encode("utf-8", "surrogatepass") + struct.pack(">H", SAMPLES_PER_TOKEN - 1)
    head += bytes((_crc(head, _CRC_8, 8),))
    body = head + b"\x00\x00\x00"
    return body + struct.pack(">H", _crc(body, _CRC_16, 16))


def encode_opus(tokens: int) -> bytes:
    """Return an Ogg file: two header pages, then pages of Opus packets."""
    packets = max(1, tokens)
    head = struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, _OPUS_SKIP, SAMPLE_RATE, 0, 0)
    vendor = b"emulator"
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + bytes(4)
    pages = [_encode_ogg_page(0, 2, 0, [head]), _encode_ogg_page(1, 0, 0, [tags])]
    for start in range(0, packets, _PAGE):
        end = min(start + _PAGE, packets)
        last = 4 * (end == packets)
        played = end * SAMPLES_PER_TOKEN * _OPUS_RATE // SAMPLE_RATE
        pages.append(_encode_ogg_page(len(pages), last, played, [_OPUS_SILENCE] * (end - start)))
    return b"".join(pages)


def _encode_ogg_page(number: int, kind: int, played: int, packets: list[bytes]) -> bytes:
    sizes = bytes([len(packet) for packet in packets])
    parts = (b"OggS", 0, kind, played, _SERIAL, number, 0, len(sizes))
    page = struct.pack("<4sBBqIIIB", *parts) + sizes + b"".join(packets)
    return page[:22] + struct.pack("<I", _crc(page, _CRC_32, 32)) + page[26:]


def encode_aac(tokens: int) -> bytes:
    """Return AAC frames of the low-complexity profile, each with its own ADTS header."""
    frames = max(1, -(-tokens * SAMPLES_PER_TOKEN // _AAC_FRAME))
    size = 7 + len(_AAC_SILENCE)
    head = 0xFFF << 44 | 1 << 40 | 1 << 38 | 6 << 34 | 1 << 30 | size << 13 | 0x7FF << 2
    return (head.to_bytes(7, "big") + _AAC_SILENCE) * frames


ENCODERS: dict[str, Callable[[int], bytes]] = {"flac": encode_flac, "opus": encode_opus, "aac": encode_aac}
"""Encoders of silence by format; each takes a length in tokens of :data:`SAMPLES_PER_TOKEN` samples."""
