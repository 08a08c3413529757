"""``POST /audio/speech``: silence as long as the speech would take, whole, in pieces or as events.

Sources: openai/openai-openapi, ``CreateSpeechRequest`` and its events; learn.microsoft.com, "Text to speech quickstart
(Azure OpenAI)". Content types are those of the OpenAI API; texts of refusals unverified but for ``voice``.
"""

from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_array
from emulator.core.plan import Plan
from emulator.core.requests import CompletionRequest
from emulator.encoding.audio import SAMPLE_RATE, SAMPLES_PER_TOKEN
from emulator.encoding.sse import encode_event
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE, last_due
from emulator.vendors.azure.audio.container import validate_choice, validate_fields
from emulator.vendors.azure.chat.audio import AudioFormat, encode_silence
from emulator.vendors.azure.decoder import WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import parse_request
from emulator.vendors.azure.url_kind import OPENAI_KINDS

_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
_ENCODINGS: dict[str, AudioFormat] = {"pcm": "pcm16"}
_SECONDS_PER_CHARACTER = 0.06
_MAX_SECONDS = 120.0  # of generated silence
_FRAME = {"mp3": 1152 / 44_100}  # seconds of a frame, where it is not a token
_MAX_INPUT = 4096  # characters


class SpeechRequest(WireModel):
    """``POST /audio/speech``."""

    model_config = ConfigDict(strict=True)

    input: Annotated[str, Field(min_length=1, max_length=_MAX_INPUT)]
    voice: str | dict[str, JSON]
    model: str | None = None
    instructions: Annotated[str, Field(max_length=_MAX_INPUT)] | None = None
    response_format: Literal["mp3", "opus", "aac", "flac", "wav", "pcm"] = "mp3"
    speed: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0
    stream_format: Literal["sse", "audio"] = "audio"


def parse_speech(request: Request, service: AzureService) -> InferenceCall:
    """``POST /audio/speech``: a text to speak; a rule's reply is spoken in its place."""
    parsed = parse_request(request, service, "speech", OPENAI_KINDS)
    profile = parsed.profile
    wire = validate_fields(SpeechRequest, parsed.body, profile)
    if isinstance(wire.voice, dict):
        raise _error_voice(wire.voice)
    voices = [str(voice) for voice in as_array(profile.traits.get("voices", ["alloy"]))]
    validate_choice("voice", wire.voice, voices, profile)
    if wire.stream_format == "sse" and not profile.traits.get("streams"):
        text = f"stream_format 'sse' is not compatible with model '{profile.model}'. Use 'audio' instead."
        raise refusals.contradicts(text, "stream_format", "unsupported_value")
    generation = CompletionRequest(prompts=(wire.input,), known=wire.input)
    return InferenceCall(
        deployment=parsed.deployment,
        request=generation,
        codec=SpeechCodec(
            profile=profile, form=wire.response_format, speed=wire.speed, sse=wire.stream_format == "sse"
        ),
        is_cpu_heavy=True,
        stream=True,
        prompt_tokens=service.count_prompt(generation, parsed.deployment),
        repeatable=True,
    )


def _error_voice(voice: Object) -> EmulatedError:
    """Return the error of a voice of one's own, which nobody can make here."""
    name = voice.get("id")
    if not isinstance(name, str):
        return refusals.missing_parameter("voice.id")
    return refusals.not_found(f"No voice found with id '{name}'.", "voice.id")


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeechCodec:
    """Codec of speech; ``sse``: its pieces come as events."""

    profile: DeploymentProfile
    form: str
    speed: float
    sse: bool

    def render(self, plan: Plan, request: Request) -> Response:
        return Response(200, self._encode(plan), self._list_headers(plan, request))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = answer_headers(plan, request, self.profile, stream=True)
        if self.sse:
            return StreamingResponse(self._stream_events(plan), headers)
        return StreamingResponse(self._stream_pieces(plan), (("Content-Type", _TYPES[self.form]), *headers[1:]))

    def _list_headers(self, plan: Plan, request: Request) -> tuple[tuple[str, str], ...]:
        return (("Content-Type", _TYPES[self.form]), *answer_headers(plan, request, self.profile)[1:])

    def _count_seconds(self, plan: Plan) -> float:
        text = plan.choices[0].text()
        return min(len(text) * _SECONDS_PER_CHARACTER / self.speed, _MAX_SECONDS)

    def _encode(self, plan: Plan) -> bytes:
        frame = _FRAME.get(self.form, SAMPLES_PER_TOKEN / SAMPLE_RATE)
        form: AudioFormat = _ENCODINGS.get(self.form) or self.form  # type: ignore[assignment]
        return encode_silence(round(self._count_seconds(plan) / frame), form)

    def _cut(self, plan: Plan) -> Iterator[tuple[float, bytes, int]]:
        """Yield due time, bytes and number of tokens of each piece: one a token."""
        choice, sound = plan.choices[0], self._encode(plan)
        total, start = max(1, len(choice.tokens)), 0
        for position, due in enumerate(choice.due, 1):
            end = len(sound) * position // total
            if end > start:
                yield due, sound[start:end], position
            start = end

    def _stream_pieces(self, plan: Plan) -> Iterator[Event]:
        held: tuple[float, bytes, int] | None = None
        for piece in self._cut(plan):
            if held is not None:
                yield *held, PLAIN
            held = piece
        if held is not None:
            yield *held, FINISH

    def _stream_events(self, plan: Plan) -> Iterator[Event]:
        for due, piece, count in self._cut(plan):
            audio: Object = {"type": "speech.audio.delta", "audio": b64encode(piece).decode()}
            yield due, encode_event(audio), count, PLAIN
        tokens, spoken = plan.usage.prompt_tokens, round(self._count_seconds(plan) * SAMPLE_RATE / SAMPLES_PER_TOKEN)
        usage: Object = {"input_tokens": tokens, "output_tokens": spoken, "total_tokens": tokens + spoken}
        choice = plan.choices[0]
        done = encode_event({"type": "speech.audio.done", "usage": usage})
        yield last_due(choice, plan.due), done, len(choice.tokens), FINISH | USAGE
