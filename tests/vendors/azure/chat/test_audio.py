"""Answers that are spoken."""

import io
import wave
from base64 import b64decode

import pytest

from emulator.vendors.azure.chat.audio import encode_silence
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import CHAT, accept, chat, refuse

V1 = "/openai/v1/chat/completions"
MODEL = "gpt-4o-audio-preview"


def ask(form: str = "wav", **fields: JSON) -> JSON:
    voice = {"voice": "alloy", "format": form}
    return chat(**{"model": MODEL, "modalities": ["text", "audio"], "audio": voice, **fields})


@pytest.mark.covers("azure/Azure OpenAI", "sound")
def test_message_has_audio() -> None:
    message = parse_json(accept(ask(), V1).codec.render(HELLO, REQUEST).body)["choices"][0]["message"]
    sound = message["audio"]
    assert (message["content"], sound["transcript"], sound["id"][:6]) == (None, "Hellö.", "audio_")
    assert sound["expires_at"] == int(HELLO.created) + 3600
    with wave.open(io.BytesIO(b64decode(sound["data"]))) as opened:
        assert (opened.getframerate(), opened.getnchannels(), opened.getnframes()) == (24_000, 1, 4 * 480)


@pytest.mark.covers("azure/fields of a chat", "modalities")
@pytest.mark.parametrize("profile", ["seed", "maas", "foundry"])
def test_model_inference_returns_audio(profile: str) -> None:
    body = ask() if profile == "foundry" else chat(model=MODEL, modalities=["text", "audio"])
    message = parse_json(accept(body, CHAT, f"profile={profile}").codec.render(HELLO, REQUEST).body)["choices"][0]
    assert message["message"]["audio"]["transcript"] == "Hellö."


def test_stream_has_audio() -> None:
    stream = accept(ask("pcm16", stream=True), V1).codec.stream(HELLO, REQUEST)
    chunks = [parse_json(data[6:]) for _, data, _, _ in stream.events if b"[DONE]" not in data]
    parts = [delta["audio"] for c in chunks for o in c["choices"] if "audio" in (delta := o["delta"])]
    assert [next(iter(part)) for part in parts] == [
        "id",
        "transcript",
        "transcript",
        "transcript",
        "data",
        "expires_at",
    ]
    assert "".join(part.get("transcript", "") for part in parts) == "Hellö."
    assert len(b64decode(parts[-2]["data"])) == 4 * 480 * 2
    assert not any(o["delta"].get("content") for c in chunks for o in c["choices"])


def test_mp3_repeats_frames() -> None:
    assert encode_silence(3, "mp3") == encode_silence(1, "mp3") * 3
    assert encode_silence(1, "mp3")[:2] == b"\xff\xfb"


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        pytest.param("flac", b"fLaC", id="FLAC"),
        pytest.param("opus", b"OggS", id="Opus"),
        pytest.param("aac", b"\xff\xf1", id="AAC"),
    ],
)
def test_other_audio_formats(form: str, begins: bytes) -> None:
    message = parse_json(accept(ask(form), V1).codec.render(HELLO, REQUEST).body)["choices"][0]["message"]
    assert b64decode(message["audio"]["data"]).startswith(begins)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        pytest.param(ask(audio=None), "audio", id="no voice"),
        pytest.param(ask("ogg"), "audio.format", id="another form"),
        pytest.param(ask("wav", stream=True), "audio.format", id="a stream of something else"),
        pytest.param(ask(model="gpt-4o"), "modalities", id="a model that does not speak"),
    ],
)
def test_unsupported_audio_is_rejected(body: JSON, param: str) -> None:
    refused = refuse(body, V1)
    assert (refused.status, refused.json()["error"]["param"]) == (400, param)


@pytest.mark.covers("azure/messages and parts", "input_audio")
def test_input_audio_is_accepted() -> None:
    heard: JSON = [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}]
    call = accept({"model": MODEL, "messages": [{"role": "user", "content": heard}]}, V1)
    assert call.request.messages[0].media == 1  # type: ignore[union-attr]
