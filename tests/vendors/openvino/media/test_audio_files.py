"""Audio: speech as WAV files, transcription with and without streaming, and omni graphs."""

import base64
import json

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.core.requests import CompletionRequest
from emulator.encoding.audio_duration import is_wav, measure_mp3, measure_wav
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.forms import HEADERS, Part, make_form
from tests.vendors.openvino.media.forms import MP3, WAV
from tests.vendors.openvino.ovms import BASE, CHAT, LATEST, Refusal, failure, make_server
from tests.vendors.openvino.plans import join_writes, render, say

_SPEECH = "/v3/audio/speech"
_WRITE = "/v3/audio/transcriptions"
_ENGLISH = "/v3/audio/translations"
_SAY: JSON = {"model": "speaks", "input": "Hello there, how are you?"}
_NO_VOICE = "Requested voice 'x' not found in available voices"
Fields = tuple[tuple[str, Part], ...]
_HEAR: Fields = (("model", "listens"), ("file", ("mile.wav", WAV)))


def speak(fields: JSON, release: str = "latest") -> bytes:
    answer = make_server(release).send(_SPEECH, {**_SAY, **fields})
    assert isinstance(answer, InferenceCall), answer.body
    return answer.codec.render(say(), make_request(_SPEECH)).body


@pytest.mark.covers("openvino/images and audio", "speech")
def test_speech_is_wav_file() -> None:
    wav = speak({})
    assert is_wav(wav)
    assert measure_wav(wav) == pytest.approx(25 * 0.05, abs=0.01)
    assert wav[20:24] == b"\x03\x00\x01\x00"  # floats, one channel
    assert speak({"speed": 2.0}) == speak({"speed": 2.0, "response_format": "mp3"})
    assert measure_wav(speak({"speed": 2.0})) == pytest.approx(25 * 0.025, abs=0.01)
    assert speak({"voice": "alloy"}) != wav


@pytest.mark.parametrize("speed", [1e-300, 0, -1.0])
def test_speech_duration_is_capped(speed: float) -> None:
    assert measure_wav(speak({"speed": speed})) == pytest.approx(60)


@pytest.mark.covers("openvino/routes", "POST audio/speech")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"input": ...}, "input field is missing in JSON body", id="no input"),
        pytest.param({"input": 1}, "input field is not a string", id="a number as input"),
        pytest.param({"stream_format": "sse"}, "streaming is not supported", id="a stream"),
        pytest.param({"voice": 1}, "voice field is not a string", id="a number as voice"),
        pytest.param({"voice": "x"}, _NO_VOICE, id="a voice it has not"),
        pytest.param({"voice": ""}, "Requested voice '' not found in available voices", id="an empty voice"),
        pytest.param({"voice": "alloy"}, None, id="a voice it has"),
        pytest.param({"language": 1}, "language field is not a string", id="a number as language"),
        pytest.param({"speed": "1"}, "speed field is not a number", id="a text as speed"),
        pytest.param({"speed": "1", "voice": "x"}, "speed field is not a number", id="the voice is looked for last"),
    ],
)
def test_speech(fields: JSON, reason: str | None) -> None:
    body = {name: value for name, value in {**_SAY, **fields}.items() if value is not ...}
    expected = None if reason is None else Refusal(400, failure(reason, "T2sExecutor"))
    assert LATEST.refusal(body, _SPEECH) == expected


@pytest.mark.parametrize(
    ("release", "fields", "reason"),
    [
        pytest.param("2025.4", {"voice": "x", "speed": "1"}, None, id="2025.4 has one voice"),
        pytest.param("2026.0", {"voice": "x"}, "Requested voice not available: x", id="other words"),
        pytest.param("2026.2", {"voice": 1, "speed": "1"}, None, id="no speed"),
    ],
)
def test_speech_by_release(release: str, fields: JSON, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason, "T2sExecutor"))
    assert make_server(release).refusal({**_SAY, **fields}, _SPEECH) == expected


def test_audio_graphs_exist_since_2025_4() -> None:
    missing = Refusal(404, "Mediapipe graph definition with requested name is not found")
    assert make_server("2025.3").refusal(_SAY, _SPEECH) == missing
    assert make_server("2025.3").refusal(make_form(*_HEAR), _WRITE, headers=HEADERS) == missing
    refusal = LATEST.refusal(_SAY, "/v3/audio/other")
    assert refusal == Refusal(400, failure("Unsupported URI: /v3/audio/other", "T2sExecutor"))


def listen(*fields: tuple[str, Part], path: str = _WRITE, release: str = "latest") -> InferenceCall:
    answer = make_server(release).send(path, make_form(*_HEAR, *fields), headers=HEADERS)
    assert isinstance(answer, InferenceCall), answer.body
    return answer


def test_transcription_text() -> None:
    for sound in (WAV, MP3):
        answer = LATEST.send(_WRITE, make_form(("model", "listens"), ("file", ("a", sound))), headers=HEADERS)
        assert isinstance(answer, InferenceCall)
        body = answer.codec.render(say("Five", " thousand"), make_request(_WRITE)).body
        assert body == b'{"text":"Five thousand"}'
    assert LATEST.refusal(make_form(*_HEAR), _ENGLISH, headers=HEADERS) is None


@pytest.mark.covers("openvino/images and audio", "text and times")
def test_word_and_segment_timestamps() -> None:
    call = listen(("timestamp_granularities[]", "word"), ("timestamp_granularities[]", "segment"))
    body = json.loads(call.codec.render(say("Five", " thousand"), make_request(_WRITE)).body)
    assert list(body) == ["text", "words", "segments"]
    assert [list(word) for word in body["words"]] == [["word", "start", "end"]] * 2
    assert (body["words"][0]["word"], body["words"][0]["start"]) == ("Five", 0.0)
    assert body["words"][1]["end"] == body["segments"][0]["end"] == pytest.approx(measure_wav(WAV), abs=0.01)
    assert body["segments"][0]["text"] == "Five thousand"


@pytest.mark.covers("openvino/images and audio", "stream")
def test_transcription_stream_bytes() -> None:
    call = listen(("stream", "true"))
    assert call.stream
    answer = call.codec.stream(say("One", " two", " three", " four"), make_request(_WRITE))
    delta = b'data: {"type":"transcript.text.delta","delta":"%b","logprobs":[]}\n\n'
    done = b'data: {"type":"transcript.text.done","text":"One two three four","logprobs":[]}\n\n'
    assert (
        b"".join(data for _, data in join_writes(answer.events))
        == delta % b"One" + delta % b" two" + delta % b" three four" + done
    )
    assert dict(answer.headers)["content-type"] == "text/event-stream"


@pytest.mark.covers("openvino/routes", "POST audio/transcriptions")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param((("file", b""),), "File parsing fails", id="an empty file"),
        pytest.param((("file", "text"),), "File parsing fails", id="no file"),
        pytest.param((("file", b"GARBAGE"),), "Received input file is not valid wav nor mp3 audio file", id="no sound"),
        pytest.param((_HEAR[1], ("language", "engl")), "Invalid language code.", id="a long language"),
        pytest.param((_HEAR[1], ("language", "en")), None, id="a language"),
        pytest.param((_HEAR[1], ("temperature", "x")), "Invalid temperature type.", id="letters as temperature"),
        pytest.param((_HEAR[1], ("temperature", "9.5")), None, id="any temperature"),
        pytest.param(
            (_HEAR[1], ("timestamp_granularities[]", "x")),
            'Invalid timestamp_granularities type. Allowed types: "segment", "word"',
            id="other times",
        ),
    ],
)
def test_transcription_fields(fields: Fields, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason, "S2tExecutor"))
    assert LATEST.refusal(make_form(_HEAR[0], *fields), _WRITE, headers=HEADERS) == expected


@pytest.mark.covers("openvino/routes", "POST audio/translations")
@pytest.mark.covers("openvino/releases", "audio")
@pytest.mark.parametrize(
    ("release", "path", "fields", "reason"),
    [
        pytest.param(
            "2026.1", _WRITE, (("stream", "false"),), "streaming is not supported", id="no stream before 2026.2"
        ),
        pytest.param(
            "2026.1", _WRITE, (("temperature", "3"),), "Temperature out of range(0.0, 2.0)", id="a range before 2026.2"
        ),
        pytest.param("2025.4", _WRITE, (("temperature", "x"),), None, id="no temperature in 2025.4"),
        pytest.param("2026.3", _ENGLISH, (("language", "english"),), None, id="no language for translations"),
    ],
)
def test_transcription_by_release(release: str, path: str, fields: Fields, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason, "S2tExecutor"))
    assert make_server(release).refusal(make_form(*_HEAR, *fields), path, headers=HEADERS) == expected


@pytest.mark.parametrize(
    ("model", "path", "reason"),
    [
        ("listens", _ENGLISH, "streaming is not supported for translations endpoint"),
        ("hears", _WRITE, "streaming is not supported for this graph configuration (LOOPBACK not configured)"),
    ],
)
def test_rejected_stream_is_chunked_event_stream(model: str, path: str, reason: str) -> None:
    form = make_form(("model", model), _HEAR[1], ("stream", "true"))
    answer = LATEST.send(path, form, headers=HEADERS)
    assert isinstance(answer, Response)
    assert (answer.status, answer.chunked, answer.headers[0][1]) == (400, True, "text/event-stream")
    assert json.loads(answer.body)["error"] == failure(reason, "S2tExecutor")


def test_unsupported_timestamps_and_json_body_are_rejected() -> None:
    form = make_form(("model", "hears"), _HEAR[1], ("timestamp_granularities[]", "word"))
    reason = "Word timestamps not supported for this model"
    assert LATEST.refusal(form, _WRITE, headers=HEADERS) == Refusal(400, failure(reason, "S2tExecutor"))
    as_json = LATEST.refusal({"model": "listens"}, _WRITE)
    assert as_json == Refusal(400, failure("Failed to parse multipart data", "S2tExecutor"))


def test_transcription_and_translation_requests_differ() -> None:
    asks = {listen(path=path).request for path in (_WRITE, _ENGLISH)}
    assert len(asks) == 2
    for ask in asks:
        assert isinstance(ask, CompletionRequest)
        assert ask.prompt == "mile.wav"
        assert ask.sampling.max_tokens == int(measure_wav(WAV) * 4)


@pytest.mark.parametrize("data", [b"RIFF", WAV[:30], WAV.replace(b"\x03\x00\x01\x00", b"\x03\x00\x07\x00")])
def test_broken_audio_raises(data: bytes) -> None:
    with pytest.raises(ValueError, match="WAV file"):
        measure_wav(data)
    with pytest.raises(ValueError, match="MP3 file parsing failed"):
        measure_mp3(data[:20])


@pytest.mark.covers("openvino/images and audio", "omni")
@pytest.mark.parametrize(
    ("fields", "spoken", "written"),
    [
        pytest.param({}, False, True, id="text is the default"),
        pytest.param({"modalities": ["text", "audio"]}, True, True, id="both"),
        pytest.param({"modalities": ["audio"], "audio": {"format": "pcm16"}}, True, False, id="sound alone"),
    ],
)
def test_omni_graph_returns_requested_modalities(fields: JSON, spoken: bool, written: bool) -> None:
    message = json.loads(render(LATEST, say("Hi", " you"), model="ears", **fields))["choices"][0]["message"]
    assert message["content"] == ("Hi you" if written else None)
    assert ("audio" in message) is spoken
    if spoken:
        assert list(message["audio"]) == ["data", "transcript"]
        assert message["audio"]["transcript"] == "Hi you"
        sound = base64.b64decode(message["audio"]["data"])
        assert is_wav(sound) is ("audio" not in fields)


@pytest.mark.covers("openvino/fields of 2026.3", "modalities, audio, chunk_frames")
def test_text_graph_validates_and_ignores_audio_fields() -> None:
    message = json.loads(render(LATEST, say("Hi"), modalities=["audio"]))["choices"][0]["message"]
    assert (message["content"], "audio" in message) == ("Hi", False)
    for fields, reason in (
        ({"audio": {"format": "mp3"}}, 'audio.format must be "wav" or "pcm16"'),
        ({"chunk_frames": -1}, "chunk_frames must be a positive integer"),
        ({"chunk_frames": 0}, "chunk_frames must be >= 1"),
    ):
        assert LATEST.refusal({**BASE, **fields}, CHAT) == Refusal(400, failure(reason))


def test_omni_graph_responses() -> None:
    body: JSON = {"model": "ears", "input": "hi", "modalities": ["text", "audio"]}
    call = LATEST.call(body, "/v3/responses")
    answer = json.loads(call.codec.render(say("Hi"), make_request("/v3/responses")).body)
    assert [part["type"] for part in answer["output"][0]["content"]] == ["output_text", "output_audio"]
    streamed = LATEST.call({**body, "stream": True}, "/v3/responses")
    data = b"".join(
        data for _, data in join_writes(streamed.codec.stream(say("Hi"), make_request("/v3/responses")).events)
    )
    kinds = [json.loads(line[6:])["type"] for line in data.decode().split("\n\n")[:-2]]
    assert kinds[-3:] == ["response.audio.delta", "response.completed", "response.audio.done"]
