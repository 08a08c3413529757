"""Where a streamed text is cut into chunks."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from emulator.vendors.openvino.decoder import quote

Events = Generator[tuple[float, bytes], None, str]

_LAG = 2  # tokens still to come before one is sent: of the latest three only the first


def split_at_blanks(
    tokens: Sequence[str], due: Sequence[float], prefix: bytes, suffix: bytes, opening: str = ""
) -> Events:
    """Chunks end after a blank or a line; gives back the rest. ``opening`` goes out with the first of them, whole.

    Source: model_server 2025.0, src/llm/llmnoderesources.hpp, TextStreamer.
    """
    waiting = opening
    held = len(opening)
    for moment, token in zip(due, tokens, strict=True):
        if not token:
            continue
        waiting += token
        end = len(waiting) if token[-1] == "\n" else waiting.rfind(" ") + 1
        if end and end >= held:
            yield moment, prefix + quote(waiting[:end]) + suffix
            waiting = waiting[end:]
            held = 0
    return waiting


def split_with_lag(
    tokens: Sequence[str], due: Sequence[float], prefix: bytes, suffix: bytes, opening: str = ""
) -> Events:
    """A token is sent when the second after it is there, or a line ends; gives back the rest.

    One that completes no character keeps what is due with it waiting.
    Source: openvino.genai, src/cpp/src/text_streamer.cpp, TextStreamer::write (delay_n_tokens is 3).
    """
    waiting = [opening] if opening else []
    for moment, token in zip(due, tokens, strict=True):
        waiting.append(token)
        if not token:
            continue
        if token[-1] == "\n":
            yield moment, prefix + quote("".join(waiting)) + suffix
            waiting.clear()
        elif len(waiting) > _LAG:
            if len(waiting) == _LAG + 1:
                ready = waiting.pop(0)
            else:
                ready = "".join(waiting[:-_LAG])
                del waiting[:-_LAG]
            if ready:
                yield moment, prefix + quote(ready) + suffix
    return "".join(waiting)
