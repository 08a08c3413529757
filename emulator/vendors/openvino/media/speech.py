"""Parse ``audio/speech`` requests, since 2025.4, and render their responses.

Source: model_server, src/audio/text_to_speech/t2s_calculator.cc.
"""

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, Object
from emulator.core.plan import Plan
from emulator.core.requests import CompletionRequest
from emulator.core.vendor import WholeCodec
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.audio_files import speak, write_wav
from emulator.vendors.openvino.request import ParsedRequest

_RATE = 16000  # samples per second


@fast_dataclass(frozen=True, slots=True)
class SpeechCodec(WholeCodec):
    """Codec of a WAV file for any requested format; its content type is the server's usual one: unverified."""

    headers: Headers
    text: str
    voice: str
    speed: float

    def render(self, plan: Plan, request: Request) -> Response:
        reply = plan.choices[0].text() if plan.choices else ""
        sound = speak(reply or self.text, self.voice, self.speed, _RATE)
        return Response(200, write_wav(sound, _RATE), self.headers)


def parse_speech(parsed: ParsedRequest) -> InferenceCall:
    """Parse a text to speak."""
    path, release, body = parsed.request.path, parsed.release, parsed.body
    if not path.startswith("/v3/audio/speech") and not (release.v1_alias and path.startswith("/v1/audio/speech")):
        raise refusal(f"Unsupported URI: {path}")
    if parsed.form is not None or not body:
        raise refusal("Failed to parse JSON")
    if "input" not in body:
        raise refusal("input field is missing in JSON body")
    text = body["input"]
    if not isinstance(text, str):
        raise refusal("input field is not a string")
    if "stream_format" in body:
        raise refusal("streaming is not supported")
    voice = _parse_voice(parsed, body) if release.since(2026, 0) else None
    speed = 1.0
    if release.since(2026, 3):
        if not isinstance(body.get("language", ""), str):
            raise refusal("language field is not a string")
        speed = _parse_speed(body)
        _validate_voice(parsed, voice, "Requested voice '%s' not found in available voices")
    return InferenceCall(
        deployment=parsed.deployment,
        is_cpu_heavy=True,
        request=CompletionRequest(prompts=(text,), known=""),
        codec=SpeechCodec(parsed.settings.json_headers, text, voice or "", speed),
        served=parsed.method,
    )


def _parse_voice(parsed: ParsedRequest, body: Object) -> str | None:
    """Parse ``voice``; before 2026.3 a value that is not a text is ignored. An empty text is a name, too."""
    if "voice" not in body:
        return None
    voice: JSON = body["voice"]
    if not isinstance(voice, str):
        if parsed.release.since(2026, 3):
            raise refusal("voice field is not a string")
        return None
    if not parsed.release.since(2026, 3):
        _validate_voice(parsed, voice, "Requested voice not available: %s")
    return voice


def _validate_voice(parsed: ParsedRequest, voice: str | None, reason: str) -> None:
    """Raise unless the voice is in the graph's trait ``voices``."""
    known = parsed.deployment.traits.get("voices")
    if voice is not None and not (isinstance(known, list | tuple) and voice in known):
        raise refusal(reason % voice)


def _parse_speed(body: Object) -> float:
    speed = body.get("speed", 1.0)
    if isinstance(speed, bool) or not isinstance(speed, int | float):
        raise refusal("speed field is not a number")
    return float(speed)
