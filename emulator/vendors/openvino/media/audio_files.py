"""Write the audio of generated speech (WAV or PCM) for the speech route, and for chats whose answer is audio.

Source: model_server, src/audio/audio_utils.cpp, with dr_wav below it.
"""

from base64 import b64encode
from struct import Struct, pack

from emulator.core.dataclass import fast_dataclass
from emulator.encoding.audio_duration import measure_mp3, measure_wav

_FLOAT = 3  # WAVE_FORMAT_IEEE_FLOAT
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
