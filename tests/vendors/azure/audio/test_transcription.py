"""Transcriptions and translations: formats, models, streams, refusals."""

import json
import re

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.generation.segments import FixedReply
from emulator.vendors.azure.chat.audio import encode_silence
from tests.conftest import Start
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import Refused, make_request, send
from tests.vendors.client import make_plan
from tests.vendors.forms import HEADERS, Part, make_form

V1 = "/openai/v1/audio/transcriptions"
ENGLISH = "/openai/v1/audio/translations"
DATED = "/openai/deployments/whisper/audio/transcriptions?api-version=2024-06-01"
WAV = encode_silence(424, "wav")  # 8.48 seconds
TEXT = "The beach was full. People swam, and played."
GPT = "gpt-4o-transcribe"


def hear(target: str, *fields: tuple[str, Part], file: Part = ("a.wav", WAV)) -> InferenceCall | Response | Refused:
    return send(make_form(("file", file), *fields), target, headers=HEADERS)


def answer(target: str, *fields: tuple[str, Part]) -> Response:
    """The response if the sound says :data:`TEXT`."""
    call = hear(target, *fields)
    assert isinstance(call, InferenceCall), call
    return call.codec.render(make_plan(call, FixedReply(text=TEXT)), make_request(target, b""))


def read(target: str, *fields: tuple[str, Part]) -> JSON:
    return parse_json(answer(target, *fields).body)


def stream(model: str, *fields: tuple[str, Part]) -> list[JSON]:
    call = hear(V1, ("model", model), ("stream", "true"), *fields)
    assert isinstance(call, InferenceCall), call
    assert call.stream
    events = call.codec.stream(make_plan(call, FixedReply(text=TEXT)), make_request(V1, b"")).events
    return [json.loads(data.removeprefix(b"data: ")) for _, data, _, _ in events]


def test_transcript_of_each_model() -> None:
    assert read(DATED) == {"text": TEXT, "usage": {"type": "duration", "seconds": 9}}
    tokens = read(V1, ("model", GPT), ("prompt", "On the beach"))["usage"]
    assert (tokens["type"], tokens["input_token_details"]) == ("tokens", {"text_tokens": 3, "audio_tokens": 85})
    assert tokens["input_tokens"] + tokens["output_tokens"] == tokens["total_tokens"]
    logprobs = read(V1, ("model", GPT), ("include[]", "logprobs"))["logprobs"]
    assert bytes(byte for each in logprobs for byte in each["bytes"]).decode() == TEXT


def test_verbose_transcript_divides_sound() -> None:
    fields = (("model", "whisper"), ("response_format", "verbose_json"), ("language", "DE"))
    found = read(V1, *fields, ("timestamp_granularities[]", "word"), ("timestamp_granularities[]", "segment"))
    assert (found["task"], found["language"], found["duration"]) == ("transcribe", "german", 8.48)
    assert [each["text"].strip() for each in found["segments"]] == ["The beach was full.", "People swam, and played."]
    assert [each["word"] for each in found["words"]] == TEXT.replace(",", "").replace(".", "").split()
    for parts in (found["segments"], found["words"]):
        times = [time for part in parts for time in (part["start"], part["end"])]
        assert times == sorted(times)
        assert (times[0], times[-1]) == (0, 8.48)
    assert "words" not in read(V1, *fields)
    assert "segments" not in read(V1, *fields, ("timestamp_granularities[]", "word"))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("text", f"{TEXT}\n"),
        (
            "srt",
            "1\n00:00:00,000 --> T\nThe beach was full.\n\n2\nT --> 00:00:08,480\nPeople swam, and played.\n\n\n",
        ),
        (
            "vtt",
            "WEBVTT\n\n00:00:00.000 --> T\nThe beach was full.\n\nT --> 00:00:08.480\nPeople swam, and played.\n\n",
        ),
    ],
)
def test_text_formats(form: str, expected: str) -> None:
    response = answer(V1, ("model", "whisper"), ("response_format", form))
    assert response.headers[0] == ("Content-Type", "text/plain; charset=utf-8")
    point = "," if form == "srt" else r"\."
    assert re.sub(rf"00:00:0[1-7]{point}\d{{3}}", "T", response.body.decode()) == expected


def test_translation_is_english() -> None:
    assert read(ENGLISH, ("model", "whisper")) == {"text": TEXT}
    found = read(ENGLISH, ("model", "whisper"), ("response_format", "verbose_json"))
    assert (found["task"], found["language"], "usage" in found) == ("translate", "english", False)


def test_speakers_take_turns() -> None:
    fields = (("model", f"{GPT}-diarize"), ("response_format", "diarized_json"), ("chunking_strategy", "auto"))
    found = read(V1, *fields)
    assert [(each["speaker"], each["text"]) for each in found["segments"]] == [
        ("A", "The beach was full."),
        ("B", "People swam, and played."),
    ]
    known = (("known_speaker_names[]", "agent"), ("known_speaker_references[]", "data:audio/wav;base64,AAAA"))
    assert [each["speaker"] for each in read(V1, *fields, *known)["segments"]] == ["agent", "A"]
    events = stream(f"{GPT}-diarize", *fields[1:])
    kinds = [event["type"].rpartition(".")[2] for event in events]
    assert (kinds.count("segment"), kinds[-2:]) == (2, ["segment", "done"])
    assert events[0]["segment_id"] == events[kinds.index("segment")]["id"]


def test_stream_has_deltas_and_whole_text() -> None:
    *deltas, done = stream(GPT, ("include[]", "logprobs"))
    assert "".join(event["delta"] for event in deltas) == done["text"] == TEXT
    assert [event["logprobs"][0] for event in deltas] == done["logprobs"]
    assert done["usage"]["type"] == "tokens"
    call = hear(V1, ("model", "whisper"), ("stream", "true"))
    assert isinstance(call, InferenceCall)
    assert not call.stream  # Whisper ignores it


@pytest.mark.parametrize(
    ("fields", "param", "code", "begins"),
    [
        ({"model": GPT, "response_format": "vtt"}, "response_format", "unsupported_value", "response_format 'vtt' is"),
        ({"model": GPT, "response_format": "x"}, "response_format", "invalid_value", "Invalid value: 'x'."),
        ({"model": "whisper", "response_format": "x"}, None, None, "[{'type': 'enum', 'loc': ('body', 'response_fo"),
        ({"model": "whisper", "temperature": "2"}, None, None, "[{'type': 'less_than_equal', 'loc': ('body', 'temp"),
        ({"model": GPT, "temperature": "2"}, "temperature", "decimal_above_max_value", "Invalid 'temperature'"),
        ({"model": GPT, "odd": "2"}, "odd", "unknown_parameter", "Unknown parameter: 'odd'."),
        ({"model": GPT, "language": "xx"}, "language", "invalid_language_format", "Invalid language 'xx'."),
        ({"model": "whisper", "include[]": "logprobs"}, "include", "unsupported_parameter", "Unsupported parameter"),
        ({"model": GPT, "chunking_strategy": "x"}, "chunking_strategy", "invalid_value", "Invalid value: 'x'."),
        ({"model": GPT, "chunking_strategy[type]": "x"}, "chunking_strategy", "invalid_value", "Invalid value: 'x'."),
        ({"model": "gpt-4o"}, ..., "OperationNotSupported", "The audioTranscription operation does not work"),
    ],
)
def test_wrong_field_is_refused(fields: dict[str, str], param: JSON, code: str, begins: str) -> None:
    refused = hear(V1, *fields.items())
    assert isinstance(refused, Refused)
    error = refused.json()["error"]
    assert (refused.status, error.get("param", ...), error["code"]) == (400, param, code)
    assert error["message"].startswith(begins)


@pytest.mark.parametrize(
    ("file", "whisper", "newer"),
    [
        (("a.xyz", WAV), "Unrecognized file format. Supported formats: ['flac'", "Unsupported file format xyz"),
        (("a.mp3", b"junk"), "Invalid file format. Supported formats: ['flac'", "Audio file might be corrupted or"),
        (("a.wav", encode_silence(4, "wav")), *["Audio file is too short. Minimum audio length is 0.1 seconds."] * 2),
    ],
)
def test_unreadable_file_is_refused(file: Part, whisper: str, newer: str) -> None:
    for model, begins in (("whisper", whisper), (GPT, newer)):
        refused = hear(V1, ("model", model), file=file)
        assert isinstance(refused, Refused)
        assert refused.json()["error"]["message"].startswith(begins)


def test_limits_of_sound() -> None:
    large = hear(V1, ("model", "whisper"), file=("a.wav", bytes(26_214_401)))
    assert isinstance(large, Refused)
    assert (large.status, large.json()["error"]["message"][:44]) == (
        413,
        "Maximum content size limit (26214400) exceed",
    )
    minute = WAV[:40] + (48_000 * 60).to_bytes(4, "little") + bytes(48_000 * 60)
    refused = hear(V1, ("model", f"{GPT}-diarize"), file=("a.wav", minute))
    assert isinstance(refused, Refused)
    assert refused.json()["error"]["message"] == "chunking_strategy is required for diarization models"
    missing = send(make_form(("model", "whisper")), V1, headers=HEADERS)
    assert isinstance(missing, Refused)
    assert missing.json()["error"]["message"] == "Missing required parameter: 'file'."
    for wrong in (ENGLISH, "/openai/audio/transcriptions", "/audio/transcriptions"):
        model = GPT if wrong == ENGLISH else "whisper"
        refused = hear(f"{wrong}?api-version=2024-06-01", ("model", model))
        assert isinstance(refused, Refused)
        assert refused.status == (400 if wrong == ENGLISH else 404)


async def test_rule_gives_transcript_by_file_name(start: Start) -> None:
    running = await start("rules: [{name: said, when: {task: transcription, prompt: beach.wav}, reply: {text: Sun.}}]")
    head = f"POST {V1} HTTP/1.1\r\napi-key: k\r\nContent-Type: {HEADERS['Content-Type']}\r\n".encode()
    heard = await running.send("azure", head, make_form(("model", GPT), ("file", ("beach.wav", WAV))))
    assert heard.json()["text"] == "Sun."
    other = await running.send("azure", head, make_form(("model", GPT), ("file", ("other.wav", WAV))))
    assert other.json()["text"] not in ("", "Sun.")
