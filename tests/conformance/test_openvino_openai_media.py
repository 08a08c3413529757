"""The OpenAI client's pictures and sounds against OpenVINO Model Server, the newest release."""

import base64
import io
import struct
import wave
import zlib
from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

openai = pytest.importorskip("openai")

CLIENT = "openai"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning"),
]  # newer clients drop some routes

_SCENARIO = """
version: 1
name: live
vendors: {openvino: {profile: "2026.3"}}
deployments:
  - {vendor: openvino, name: draws, kind: image}
  - {vendor: openvino, name: speaks, kind: tts, traits: {voices: [alloy]}}
  - {vendor: openvino, name: listens, kind: stt, traits: {enable_word_timestamps: true}}
rules:
  - name: heard
    when: {vendor: openvino, deployment: listens}
    reply: {text: "One two three four"}
"""


@pytest.fixture(scope="module")
def live() -> Iterator[Running]:
    with LiveServer(_SCENARIO) as value:
        yield value


@pytest.fixture(params=["port", "front"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    root = live.urls["openvino"] if request.param == "port" else live.front("openvino")
    with openai.OpenAI(base_url=root + "/v3", api_key=live.key("unused"), max_retries=0) as value:
        yield value


def make_wav(seconds: int = 2) -> bytes:
    """Silence of so many seconds, as the standard library writes it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(bytes(2 * 16000 * seconds))
    return file.getvalue()


def make_png(width: int, height: int) -> bytes:
    """A white picture of bytes of gray."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xff" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def measure(picture: JSON) -> JSON:
    png = base64.b64decode(picture.b64_json, validate=True)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_image_generation(client: JSON) -> None:
    answer = client.images.generate(model="draws", prompt="a red fox", size="64x32", extra_body={"rng_seed": 7})
    assert [measure(picture) for picture in answer.data] == [(64, 32)]
    again = client.images.generate(model="draws", prompt="a red fox", size="64x32", extra_body={"rng_seed": 7})
    other = client.images.generate(model="draws", prompt="a red fox", size="64x32", extra_body={"rng_seed": 8})
    assert answer.data[0].b64_json == again.data[0].b64_json != other.data[0].b64_json


def test_image_edit(client: JSON) -> None:
    answer = client.images.edit(model="draws", prompt="a blue fox", image=("fox.png", make_png(48, 24)))
    assert [measure(picture) for picture in answer.data] == [(48, 24)]


def test_image_variation_is_unsupported(client: JSON) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.images.create_variation(model="draws", image=("fox.png", make_png(8, 8)))
    assert "Unsupported URI" in caught.value.body


def test_malformed_image_size_is_refused(client: JSON) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.images.generate(model="draws", prompt="a red fox", size="64")
    assert "Mediapipe execution failed" in caught.value.body


def test_speech(client: JSON) -> None:
    wav = client.audio.speech.create(model="speaks", voice="alloy", input="Hello there").read()
    assert (wav[:4], wav[8:16]) == (b"RIFF", b"WAVEfmt ")
    assert len(wav) == 8 + struct.unpack("<I", wav[4:8])[0]
    with client.audio.speech.with_streaming_response.create(
        model="speaks", voice="alloy", input="Hello there"
    ) as parts:
        assert b"".join(parts.iter_bytes()) == wav
    with pytest.raises(openai.BadRequestError) as caught:
        client.audio.speech.create(model="speaks", voice="echo", input="Hello there")
    assert "Requested voice 'echo' not found" in caught.value.body


def test_transcription(client: JSON) -> None:
    file = ("two.wav", make_wav())
    assert client.audio.transcriptions.create(model="listens", file=file).text == "One two three four"
    timed = client.audio.transcriptions.create(model="listens", file=file, timestamp_granularities=["word"])
    assert [word["word"] for word in timed.words] == ["One", "two", "three", "four"]
    assert timed.words[-1]["end"] == pytest.approx(2.0, abs=0.1)


def test_streamed_transcription(client: JSON) -> None:
    events = list(client.audio.transcriptions.create(model="listens", file=("two.wav", make_wav()), stream=True))
    *deltas, done = events
    assert {event.type for event in deltas} == {"transcript.text.delta"}
    assert (done.type, done.text) == ("transcript.text.done", "One two three four")
    assert len(deltas) > 1


def test_translation(client: JSON) -> None:
    answer = client.audio.translations.create(model="listens", file=("two.wav", make_wav()))
    assert answer.text == "One two three four"
    with pytest.raises(openai.BadRequestError) as caught:
        client.audio.translations.create(model="listens", file=("two.wav", b"no sound"))
    assert "not valid wav nor mp3" in caught.value.body
