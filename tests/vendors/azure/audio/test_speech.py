"""Speech: formats, duration, pieces, events, refusals."""

import json
from base64 import b64decode

import pytest

from emulator.encoding.audio_duration import measure_any
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.azure.service import accept, make_request, refuse
from tests.vendors.client import make_plan

V1 = "/openai/v1/audio/speech"
DATED = "/openai/deployments/tts/audio/speech?api-version=2025-04-01-preview"
SAY: JSON = {"model": "gpt-4o-mini-tts", "voice": "coral", "input": "Hello there, how are you?"}


def speak(body: JSON, target: str = V1, text: str = "") -> tuple[list[bytes], str]:
    """The pieces of a stream and its content type."""
    call = accept(body, target)
    plan = make_plan(call, FixedReply(text=text) if text else None)
    response = call.codec.stream(plan, make_request(target, body))
    pieces = [data for _, data, _, _ in response.events]
    whole = call.codec.render(plan, make_request(target, body))
    if body.get("stream_format") != "sse":
        assert (b"".join(pieces), response.headers[0]) == (whole.body, whole.headers[0])
    return pieces, response.headers[0][1]


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("mp3", "audio/mpeg"),
        ("opus", "audio/opus"),
        ("flac", "audio/flac"),
        ("wav", "audio/wav"),
        ("aac", "audio/aac"),
        ("pcm", "audio/pcm"),
    ],
)
def test_speech_is_as_long_as_text(form: str, kind: str) -> None:
    pieces, found = speak({**SAY, "response_format": form})
    assert found == kind
    sound = b"".join(pieces)
    if form in ("aac", "pcm"):
        seconds = len(sound) / 48_000 if form == "pcm" else sound.count(b"\xff\xf1") * 1024 / 24_000
    else:
        seconds = measure_any(sound)
    assert seconds == pytest.approx(25 * 0.06, abs=0.05)


def test_speed_reply_and_maximum() -> None:
    body: JSON = {**SAY, "response_format": "wav"}
    assert measure_any(b"".join(speak({**body, "speed": 2.0})[0])) == pytest.approx(0.75, abs=0.05)
    assert measure_any(b"".join(speak(body, text="Hi.")[0])) == pytest.approx(0.18, abs=0.02)
    assert measure_any(b"".join(speak({**body, "input": "a" * 4096, "speed": 0.25})[0])) == pytest.approx(120)


def test_events_join_to_sound() -> None:
    body: JSON = {**SAY, "stream_format": "sse", "response_format": "wav"}
    pieces, kind = speak(body)
    *deltas, done = [json.loads(piece.removeprefix(b"data: ")) for piece in pieces]
    assert kind == "text/event-stream; charset=utf-8"
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    assert measure_any(b"".join(b64decode(event["audio"]) for event in deltas)) == pytest.approx(1.5)
    usage = done["usage"]
    assert (done["type"], usage["output_tokens"]) == ("speech.audio.done", 75)
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]


@pytest.mark.parametrize(
    ("model", "fields", "param", "begins"),
    [
        (
            "tts",
            {"voice": "verse"},
            None,
            "[{'type': 'enum', 'loc': ('body', 'voice'), 'msg': \"Input should be 'no",
        ),
        ("gpt-4o-mini-tts", {"voice": "x"}, "voice", "Invalid value: 'x'. Supported values are: 'alloy', "),
        ("gpt-4o-mini-tts", {"voice": {"id": "v"}}, "voice.id", "No voice found with id 'v'."),
        ("gpt-4o-mini-tts", {"voice": None}, "voice", "Invalid type for 'voice'"),
        ("tts-hd", {"stream_format": "sse"}, "stream_format", "stream_format 'sse' is not compatible with model"),
        ("tts", {"input": ""}, None, "[{'type': 'string_too_short', 'loc': ('body', 'input')"),
        ("gpt-4o-mini-tts", {"input": "a" * 4097}, "input", "Invalid 'input': string too long."),
        ("gpt-4o-mini-tts", {"speed": 5}, "speed", "Invalid 'speed': decimal above maximum value."),
        ("gpt-4o-mini-tts", {"response_format": "ogg"}, "response_format", "Invalid value: 'ogg'."),
        ("gpt-4o-mini-tts", {"odd": 1}, "odd", "Unknown parameter: 'odd'."),
    ],
)
def test_wrong_field_is_refused(model: str, fields: JSON, param: str | None, begins: str) -> None:
    refused = refuse({**SAY, "model": model, **fields}, V1)
    error = refused.json()["error"]
    assert error["message"].startswith(begins), error
    assert error["param"] == param


def test_missing_field_is_refused() -> None:
    refused = refuse({"voice": "alloy"}, DATED)
    assert refused.json()["error"]["message"].startswith("[{'type': 'missing', 'loc': ('body', 'input')")


async def test_speech_is_sent_in_pieces(start: Start) -> None:
    running = await start("")
    answer = await running.ask("azure", DATED, {"voice": "alloy", "input": "Hello"}, headers={"api-key": "k"})
    assert (answer.status, answer.header("Content-Type")) == (200, "audio/mpeg")
    assert answer.header("Transfer-Encoding") == "chunked"
