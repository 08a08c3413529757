"""Requests to a graph that listens: ``audio/transcriptions`` and ``audio/translations``, since 2025.4.

Source: model_server, src/audio/speech_to_text/s2t_calculator.cc, s2t_servable.cpp and s2t_streaming_handler.cpp.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Headers, Mark, Request, Response, StreamingResponse
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest, Sampling
from emulator.core.vendor import InferenceCall
from emulator.encoding.floats import format_float
from emulator.protocols.choice_events import TextRun, last_due
from emulator.vendors.openvino.chat.stream import cut_with_lag
from emulator.vendors.openvino.decoder import promote, quote_long
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.audio_files import is_wav, measure_mp3, measure_wav
from emulator.vendors.openvino.media.multipart import NUMBER, Form
from emulator.vendors.openvino.request import ParsedRequest

_LANGUAGE = 3  # letters at most
_TOKENS_A_SECOND = 4


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionCodec:
    """What was heard, with the times of words and segments or without; streamed as deltas and the whole.

    Fields:
        seconds: of the sound.
    """

    headers: Headers
    stream_headers: Headers
    seconds: float
    words: bool
    segments: bool

    def render(self, plan: Plan, request: Request) -> Response:
        text = _text_of(plan.choices[0])
        words = text.split()
        lists = b""
        if self.words:
            lists += b',"words":[%b]' % self._list(b"word", words)
        if self.segments:
            lists += b',"segments":[%b]' % self._list(b"text", [text] if text else [])
        return Response(200, b'{"text":%b%b}' % (quote_long(text), lists), self.headers)

    def _list(self, key: bytes, texts: list[str]) -> bytes:
        """Texts that share the time of the sound evenly."""
        share = self.seconds / max(1, len(texts))
        return b",".join(
            [
                b'{"%b":%b,"start":%b,"end":%b}'
                % (key, quote_long(text), _second(number * share), _second((number + 1) * share))
                for number, text in enumerate(texts)
            ]
        )

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(_stream_events(plan, plan.choices[0]), self.stream_headers)


def _second(value: float) -> bytes:
    return format_float(promote(round(value, 2))).encode()


def _text_of(choice: Choice) -> str:
    return "".join(choice.tokens)


def _stream_events(plan: Plan, choice: Choice) -> Iterator[Event]:
    """Deltas and the whole text; nothing says that it is over."""
    before, after = b'data: {"type":"transcript.text.delta","delta":', b',"logprobs":[]}\n\n'
    rest = yield from cut_with_lag(choice, TextRun("text", 0, len(choice.tokens)), before, after)
    due, tokens = last_due(choice, plan.due), len(choice.tokens)
    if rest:
        yield due, before + quote_long(rest) + after, tokens, Mark.PLAIN
    done = b'data: {"type":"transcript.text.done","text":%b,"logprobs":[]}\n\n' % quote_long(_text_of(choice))
    yield due, done, tokens, Mark.FINISH | Mark.DONE


def parse_listening(accepted: ParsedRequest) -> InferenceCall:
    """A sound to write down, or to put into English.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    name = _name_endpoint(accepted)
    form = accepted.form
    if form is None:
        raise refusal("Failed to parse multipart data")
    _check_stream(accepted, form, name)
    sound = form.file("file")
    if not sound:
        raise refusal("File parsing fails")
    seconds = _measure(sound)
    granularities = _read_granularities(accepted, form) if name == "transcriptions" else set()
    if accepted.release.since(2026, 0):
        _check_temperature(form, ranged=not accepted.release.since(2026, 2))
    ask = _make_ask(form, sound, seconds, name)
    return InferenceCall(
        deployment=accepted.deployment,
        request=ask,
        codec=TranscriptionCodec(
            headers=accepted.settings.json_headers,
            stream_headers=accepted.settings.stream_headers,
            seconds=seconds,
            words="word" in granularities,
            segments="segment" in granularities,
        ),
        stream=accepted.stream,
        prompt_tokens=accepted.service.count_prompt(ask, accepted.deployment),
        served=accepted.method,
    )


def _measure(sound: bytes) -> float:
    try:
        return measure_wav(sound) if is_wav(sound) else measure_mp3(sound)
    except ValueError:
        raise refusal("Received input file is not valid wav nor mp3 audio file") from None


def _make_ask(form: Form, sound: bytes, seconds: float, name: str) -> CompletionRequest:
    """A text that is the sound's own, as long as the sound lets it be; rules see the name of its file."""
    filename = next((field.filename for field in form.fields if field.name == "file" and field.filename), "")
    most = max(_TOKENS_A_SECOND, int(seconds * _TOKENS_A_SECOND))
    digest = hashlib.sha256(sound + name.encode()).hexdigest()
    return CompletionRequest(prompts=(filename,), sampling=Sampling(max_tokens=most, seed=0, knobs=(("file", digest),)))


def _name_endpoint(accepted: ParsedRequest) -> str:
    roots = ("/v3/", "/v1/") if accepted.release.v1_alias else ("/v3/",)
    path = accepted.request.path
    for name in ("transcriptions", "translations"):
        if path.startswith(tuple([f"{root}audio/{name}" for root in roots])):
            return name
    raise refusal(f"Unsupported URI: {path}")


def _check_stream(accepted: ParsedRequest, form: Form, name: str) -> None:
    """Streams came with 2026.2, for transcriptions and graphs that are built for them (trait ``loopback``)."""
    stream = form.text("stream")
    if not accepted.release.since(2026, 2):
        if stream:
            raise refusal("streaming is not supported")
        return
    if stream == "true" and name == "translations":
        raise refusal("streaming is not supported for translations endpoint")
    if stream == "true" and accepted.deployment.traits.get("loopback") is False:
        raise refusal("streaming is not supported for this graph configuration (LOOPBACK not configured)")


def _read_granularities(accepted: ParsedRequest, form: Form) -> set[str]:
    if len(form.text("language").encode()) > _LANGUAGE:
        raise refusal("Invalid language code.")
    if not accepted.release.since(2026, 0):
        return set()
    wanted = form.texts("timestamp_granularities[]")
    for name in wanted:
        if name == "word" and not accepted.deployment.traits.get("enable_word_timestamps"):
            raise refusal("Word timestamps not supported for this model")
        if name not in ("word", "segment"):
            raise refusal('Invalid timestamp_granularities type. Allowed types: "segment", "word"')
    return set(wanted)


def _check_temperature(form: Form, *, ranged: bool) -> None:
    text = form.text("temperature")
    if text and not NUMBER.fullmatch(text):
        raise refusal("Invalid temperature type.")
    if text and ranged and not 0.0 <= float(text) <= 2.0:
        raise refusal("Temperature out of range(0.0, 2.0)")
