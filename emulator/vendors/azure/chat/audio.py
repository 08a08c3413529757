"""Render audio answers: silence as long as the speech would take, in formats that players open.

Sources: openai-python, ``types/chat/chat_completion_audio.py``; learn.microsoft.com, "Quickstart: audio generation".
"""

import struct
from base64 import b64encode
from typing import Literal

from emulator.core.errors import EmulatedError
from emulator.core.json import Object
from emulator.core.plan import Choice, Plan
from emulator.core.rng import draw_hex
from emulator.encoding.audio import ENCODERS, SAMPLE_RATE, SAMPLES_PER_TOKEN
from emulator.vendors.azure.errors import refusals

AudioFormat = Literal["wav", "pcm16", "mp3", "flac", "opus", "aac"]
_LIFETIME = 3600  # seconds until ``expires_at``
_MP3_FRAME = b"\xff\xfb\x90\xc4" + bytes(413)  # 128 kbit/s, 44.1 kHz: twenty-six milliseconds of silence
_WAV_HEAD = struct.Struct("<4sI4s4sIHHIIHH4sI")  # header of a WAV file


def parse_format(wanted: AudioFormat, *, stream: bool) -> AudioFormat:
    """Return the audio format.

    Raises:
        EmulatedError: a stream does not support the format.
    """
    if stream and wanted != "pcm16":
        raise _error_stream(wanted)
    return wanted


def _error_stream(wanted: str) -> EmulatedError:
    """Return the error of a format that streams lack. Source: openai/openai-python issue threads."""
    text = f"Unsupported value: 'audio.format' does not support '{wanted}' when stream=true."
    return refusals.contradicts(f"{text} Supported values are: 'pcm16'.", "audio.format", "unsupported_value")


def encode_silence(tokens: int, form: AudioFormat) -> bytes:
    """Return silence of the length of ``tokens``."""
    if form == "mp3":
        return _MP3_FRAME * max(1, tokens)
    if form in ENCODERS:
        return ENCODERS[form](tokens)
    samples = bytes(2 * SAMPLES_PER_TOKEN * tokens)
    if form == "pcm16":
        return samples
    size = len(samples)
    shape = (16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16)  # PCM, one channel, two bytes a sample
    return _WAV_HEAD.pack(b"RIFF", 36 + size, b"WAVE", b"fmt ", *shape, b"data", size) + samples


def encode_sound(choice: Choice, form: AudioFormat) -> str:
    """Return the audio of a whole choice, in base64."""
    return b64encode(encode_silence(len(choice.tokens), form)).decode()


def name_sound(plan: Plan, index: int) -> str:
    """Return the id of an audio answer."""
    return f"audio_{draw_hex(plan.key, 'audio', index)}"


def expires(plan: Plan) -> int:
    """Return ``expires_at`` of an audio answer, Unix seconds."""
    return int(plan.created) + _LIFETIME


def build_audio(plan: Plan, choice: Choice, index: int, form: AudioFormat) -> Object:
    """Return the member ``audio`` of a message."""
    return {
        "id": name_sound(plan, index),
        "data": encode_sound(choice, form),
        "expires_at": expires(plan),
        "transcript": choice.text(),
    }
