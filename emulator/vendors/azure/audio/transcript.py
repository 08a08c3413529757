"""Build the parts of a transcript: segments and words with their times, and subtitles (SRT, VTT) of them.

Times divide the sound evenly over its tokens and characters.
"""

import zlib
from collections.abc import Iterator, Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.plan import Choice
from emulator.core.rng import derive_key, draw_hex, draw_integer

_ENDS = (".", "!", "?", "。", "！", "？")
_FIRST_TIMESTAMP = 50364  # id of Whisper's token of the time 0.00; each of the next is 0.02 s later
_TICK = 0.02


@fast_dataclass(frozen=True, slots=True)
class Part:
    """Sentence of a transcript: its text, tokens ``[first:last]`` and times in seconds."""

    text: str
    first: int
    last: int
    start: float
    end: float


def split_parts(choice: Choice, seconds: float) -> list[Part]:
    """Return the sentences of a transcript."""
    tokens, first = choice.tokens, 0
    parts: list[Part] = []
    for position, token in enumerate(tokens, 1):
        if position == len(tokens) or token.rstrip().endswith(_ENDS):
            text = "".join(tokens[first:position])
            if text.strip() or not parts:
                start, end = (seconds * at / len(tokens) for at in (first, position))
                parts.append(Part(text, first, position, round(start, 2), round(end, 2)))
            first = position
    return parts


def list_segments(choice: Choice, seconds: float, temperature: float, key: bytes) -> list[JSON]:
    """Return segments with the figures that Whisper's decoder reports."""
    return [
        _build_segment(number, part, choice, temperature, derive_key(key, "segment", number))
        for number, part in enumerate(split_parts(choice, seconds))
    ]


def _build_segment(number: int, part: Part, choice: Choice, temperature: float, key: bytes) -> Object:
    text = part.text.encode()
    ticks = [_FIRST_TIMESTAMP + round(at / _TICK) for at in (part.start, part.end)]
    return {
        "id": number,
        "seek": 0,
        "start": part.start,
        "end": part.end,
        "text": part.text if part.text.startswith(" ") else f" {part.text}",
        "tokens": [ticks[0], *choice.ids[part.first : part.last], ticks[1]],
        "temperature": temperature,
        "avg_logprob": -draw_integer(key, 500_000, "logprob") / 1e6,
        "compression_ratio": round(len(text) / max(1, len(zlib.compress(text))), 6),
        "no_speech_prob": draw_integer(key, 50_000, "silence") / 1e6,
    }


def list_words(text: str, seconds: float) -> list[JSON]:
    """Return words with times in proportion to their characters."""
    words = text.split()
    total = sum(map(len, words)) or 1
    listed: list[JSON] = []
    before = 0
    for word in words:
        start, before = before, before + len(word)
        bare = word.strip(".,;:!?\"'()") or word
        listed.append(
            {"word": bare, "start": round(seconds * start / total, 2), "end": round(seconds * before / total, 2)}
        )
    return listed


def list_speakers(choice: Choice, seconds: float, names: Sequence[str], key: bytes) -> Iterator[Object]:
    """Yield segments with their speakers: two who take turns, the known ones by their names."""
    speakers = [*names, *"AB"][: max(2, len(names))]
    for number, part in enumerate(split_parts(choice, seconds)):
        yield {
            "type": "transcript.text.segment",
            "id": f"seg_{draw_hex(key, 'segment', number, digits=12)}",
            "start": part.start,
            "end": part.end,
            "text": part.text.strip(),
            "speaker": speakers[number % len(speakers)],
        }


def format_srt(parts: Sequence[Part]) -> str:
    blocks = [
        f"{number}\n{_format_time(part.start, ',')} --> {_format_time(part.end, ',')}\n{part.text.strip()}\n"
        for number, part in enumerate(parts, 1)
    ]
    return "\n".join(blocks) + "\n\n"


def format_vtt(parts: Sequence[Part]) -> str:
    blocks = [
        f"{_format_time(part.start, '.')} --> {_format_time(part.end, '.')}\n{part.text.strip()}\n" for part in parts
    ]
    return "\n".join(["WEBVTT\n", *blocks]) + "\n"


def _format_time(seconds: float, point: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"
