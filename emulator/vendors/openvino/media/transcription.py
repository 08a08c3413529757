"""Parse ``audio/transcriptions`` and ``audio/translations`` requests, since 2025.4, and render their responses.

Source: model_server, src/audio/speech_to_text/s2t_calculator.cc, s2t_servable.cpp and s2t_streaming_handler.cpp.
"""

import hashlib
from collections.abc import Iterator

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Headers, Mark, Request, Response, StreamingResponse
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest, Sampling
from emulator.encoding.audio_duration import is_wav, measure_mp3, measure_wav
from emulator.encoding.floats import format_float
from emulator.encoding.multipart import NUMBER, Form
from emulator.protocols.choice_events import TextRun, last_due
from emulator.vendors.openvino.chat.stream import cut_with_lag, send_chunks
from emulator.vendors.openvino.decoder import promote, quote_long
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import ParsedRequest

_MAX_LANGUAGE = 3  # bytes of a language code
_TOKENS_PER_SECOND = 4


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionCodec:
    """Codec of a transcript with optional word and segment times; a stream has deltas and the whole text.

    Fields:
        seconds: duration of the sound.
    """

    headers: Headers
    stream_headers: Headers
    seconds: float
    words: bool
    segments: bool

    def render(self, plan: Plan, request: Request) -> Response:
        text = _join_text(plan.choices[0])
        words = text.split()
        lists = b""
        if self.words:
            lists += b',"words":[%b]' % self._encode_times(b"word", words)
        if self.segments:
            lists += b',"segments":[%b]' % self._encode_times(b"text", [text] if text else [])
        return Response(200, b'{"text":%b%b}' % (quote_long(text), lists), self.headers)

    def _encode_times(self, key: bytes, texts: list[str]) -> bytes:
        """Encode texts with start and end times that divide the sound evenly."""
        share = self.seconds / max(1, len(texts))
        return b",".join(
            [
                b'{"%b":%b,"start":%b,"end":%b}'
                % (key, quote_long(text), _format_seconds(number * share), _format_seconds((number + 1) * share))
                for number, text in enumerate(texts)
            ]
        )

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(_stream_events(plan, plan.choices[0]), self.stream_headers)


def _format_seconds(value: float) -> bytes:
    return format_float(promote(round(value, 2))).encode()


def _join_text(choice: Choice) -> str:
    return "".join(choice.tokens)


def _stream_events(plan: Plan, choice: Choice) -> Iterator[Event]:
    """Yield deltas and the whole text; there is no ``[DONE]``."""
    before, after = b'data: {"type":"transcript.text.delta","delta":', b',"logprobs":[]}\n\n'
    chunks = cut_with_lag(choice, TextRun("text", 0, len(choice.tokens)))
    rest = yield from send_chunks(choice, chunks, before, after)
    due, tokens = last_due(choice, plan.due), len(choice.tokens)
    if rest:
        yield due, before + quote_long(rest) + after, tokens, Mark.PLAIN
    done = b'data: {"type":"transcript.text.done","text":%b,"logprobs":[]}\n\n' % quote_long(_join_text(choice))
    yield due, done, tokens, Mark.FINISH | Mark.DONE


def parse_listening(parsed: ParsedRequest) -> InferenceCall:
    """Parse a sound to transcribe or translate."""
    name = _find_endpoint(parsed)
    form = parsed.form
    if form is None:
        raise refusal("Failed to parse multipart data")
    _validate_stream(parsed, form, name)
    sound = form.file("file")
    if not sound:
        raise refusal("File parsing fails")
    seconds = _measure(sound)
    granularities = _parse_granularities(parsed, form) if name == "transcriptions" else set()
    if parsed.release.since(2026, 0):
        _validate_temperature(form, ranged=not parsed.release.since(2026, 2))
    generation = _build_request(form, sound, seconds, name)
    return InferenceCall(
        deployment=parsed.deployment,
        request=generation,
        codec=TranscriptionCodec(
            headers=parsed.settings.json_headers,
            stream_headers=parsed.settings.stream_headers,
            seconds=seconds,
            words="word" in granularities,
            segments="segment" in granularities,
        ),
        stream=parsed.stream,
        prompt_tokens=parsed.service.count_prompt(generation, parsed.deployment),
        served=parsed.method,
    )


def _measure(sound: bytes) -> float:
    try:
        return measure_wav(sound) if is_wav(sound) else measure_mp3(sound)
    except ValueError:
        raise refusal("Received input file is not valid wav nor mp3 audio file") from None


def _build_request(form: Form, sound: bytes, seconds: float, name: str) -> CompletionRequest:
    """Build a request for text in proportion to the sound; scenario rules match the file name as its prompt."""
    filename = next((field.filename for field in form.fields if field.name == "file" and field.filename), "")
    max_tokens = max(_TOKENS_PER_SECOND, int(seconds * _TOKENS_PER_SECOND))
    digest = hashlib.sha256(sound + name.encode()).hexdigest()
    return CompletionRequest(
        prompts=(filename,), sampling=Sampling(max_tokens=max_tokens, seed=0, parameters=(("file", digest),))
    )


def _find_endpoint(parsed: ParsedRequest) -> str:
    roots = ("/v3/", "/v1/") if parsed.release.v1_alias else ("/v3/",)
    path = parsed.request.path
    for name in ("transcriptions", "translations"):
        if path.startswith(tuple([f"{root}audio/{name}" for root in roots])):
            return name
    raise refusal(f"Unsupported URI: {path}")


def _validate_stream(parsed: ParsedRequest, form: Form, name: str) -> None:
    """Raise unless the request can stream: since 2026.2, transcriptions, graphs with the trait ``loopback``."""
    stream = form.text("stream")
    if not parsed.release.since(2026, 2):
        if stream:
            raise refusal("streaming is not supported")
        return
    if stream == "true" and name == "translations":
        raise refusal("streaming is not supported for translations endpoint")
    if stream == "true" and parsed.deployment.traits.get("loopback") is False:
        raise refusal("streaming is not supported for this graph configuration (LOOPBACK not configured)")


def _parse_granularities(parsed: ParsedRequest, form: Form) -> set[str]:
    if len(form.text("language").encode()) > _MAX_LANGUAGE:
        raise refusal("Invalid language code.")
    if not parsed.release.since(2026, 0):
        return set()
    wanted = form.texts("timestamp_granularities[]")
    for name in wanted:
        if name == "word" and not parsed.deployment.traits.get("enable_word_timestamps"):
            raise refusal("Word timestamps not supported for this model")
        if name not in ("word", "segment"):
            raise refusal('Invalid timestamp_granularities type. Allowed types: "segment", "word"')
    return set(wanted)


def _validate_temperature(form: Form, *, ranged: bool) -> None:
    text = form.text("temperature")
    if text and not NUMBER.fullmatch(text):
        raise refusal("Invalid temperature type.")
    if text and ranged and not 0.0 <= float(text) <= 2.0:
        raise refusal("Temperature out of range(0.0, 2.0)")
