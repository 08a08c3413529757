"""Answers that are spoken: silence as long as the words take, in a form that players open.

Sources: openai-python, ``types/chat/chat_completion_audio.py``; learn.microsoft.com, "Quickstart: audio generation".
"""

import struct
from base64 import b64encode
from typing import Literal

from emulator.core.errors import EmulatedError
from emulator.core.json import Object
from emulator.core.plan import Choice, Plan
from emulator.core.rng import draw_hex
from emulator.encoding.audio import ENCODERS, RATE, TOKEN
from emulator.vendors.azure.errors import refusals

AudioFormat = Literal["wav", "pcm16", "mp3", "flac", "opus", "aac"]
_LIFE = 3600  # seconds that the service remembers what it said
_FRAME = b"\xff\xfb\x90\xc4" + bytes(413)  # 128 kbit/s, 44.1 kHz: twenty-six milliseconds of nothing
_HEAD = struct.Struct("<4sI4s4sIHHIIHH4sI")  # of a WAV file, as its sound begins


def read_format(wanted: AudioFormat, *, stream: bool) -> AudioFormat:
    """The form of the sound.

    Raises:
        EmulatedError: it is not spoken in that form in a stream.
    """
    if stream and wanted != "pcm16":
        raise _refuse_stream(wanted)
    return wanted


def _refuse_stream(wanted: str) -> EmulatedError:
    """Source: openai/openai-python issue threads."""
    text = f"Unsupported value: 'audio.format' does not support '{wanted}' when stream=true."
    return refusals.contradicts(f"{text} Supported values are: 'pcm16'.", "audio.format", "unsupported_value")


def make_sound(tokens: int, form: AudioFormat) -> bytes:
    """Silence for so many tokens."""
    if form == "mp3":
        return _FRAME * max(1, tokens)
    if form in ENCODERS:
        return ENCODERS[form](tokens)
    samples = bytes(2 * TOKEN * tokens)
    if form == "pcm16":
        return samples
    size = len(samples)
    shape = (16, 1, 1, RATE, 2 * RATE, 2, 16)  # plain numbers, one channel, two bytes each
    return _HEAD.pack(b"RIFF", 36 + size, b"WAVE", b"fmt ", *shape, b"data", size) + samples


def encode_sound(choice: Choice, form: AudioFormat) -> str:
    """The sound of a whole choice, in base64."""
    return b64encode(make_sound(len(choice.tokens), form)).decode()


def name_sound(plan: Plan, index: int) -> str:
    return f"audio_{draw_hex(plan.key, 'audio', index)}"


def expires(plan: Plan) -> int:
    return int(plan.created) + _LIFE


def shape_sound(plan: Plan, choice: Choice, index: int, form: AudioFormat) -> Object:
    """The member ``audio`` of a message."""
    return {
        "id": name_sound(plan, index),
        "data": encode_sound(choice, form),
        "expires_at": expires(plan),
        "transcript": choice.text(),
    }
