"""The OpenAI clients' sounds, edited images, vector stores and file search against Azure OpenAI."""

import io
import wave
from base64 import b64decode
from collections.abc import Iterator

import pytest

from emulator.encoding.images import draw_png
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
vendors:
  azure:
    vector_stores:
      vs_handbook: {leave.md: Everyone has 30 days of leave. Ask your lead.}
rules:
  - {name: heard, when: {vendor: azure, task: transcription}, reply: {text: One two. Three four.}}
"""
_PNG = ("fox.png", draw_png(b"fox", 64, 64), "image/png")


@pytest.fixture(scope="module")
def live() -> Iterator[Running]:
    with LiveServer(_SCENARIO) as value:
        yield value


@pytest.fixture(params=["v1", "dated", "front"])
def client(request: pytest.FixtureRequest, live: Running) -> Iterator[JSON]:
    root = live.front("azure") if request.param == "front" else live.urls["azure"]
    key, quiet = live.key("k"), {"max_retries": 0}
    if request.param == "dated":
        made = openai.AzureOpenAI(azure_endpoint=root, api_key=key, api_version="2025-04-01-preview", **quiet)
    else:
        made = openai.OpenAI(base_url=f"{root}/openai/v1/", api_key=key, **quiet)
    with made as value:
        yield value


def make_wav(seconds: int = 2) -> tuple[str, bytes]:
    """Silence of so many seconds, as the standard library writes it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(bytes(2 * 16000 * seconds))
    return "two.wav", file.getvalue()


def list_unknown(value: JSON, path: str = "") -> list[str]:
    """Return the fields of an answer, at any depth, that the client's types lack."""
    if isinstance(value, list):
        return [found for each in value for found in list_unknown(each, path)]
    if not hasattr(value, "model_extra"):
        return []
    own = [f"{path}.{name}" for name in value.model_extra or {}]
    return own + [found for name in type(value).model_fields for found in list_unknown(getattr(value, name), name)]


def test_transcription(client: JSON) -> None:
    plain = client.audio.transcriptions.create(model="whisper", file=make_wav())
    assert (plain.text, plain.usage.type, plain.usage.seconds) == ("One two. Three four.", "duration", 2)
    assert list_unknown(plain) == []
    fields = {"response_format": "verbose_json", "timestamp_granularities": ["word", "segment"], "language": "de"}
    verbose = client.audio.transcriptions.create(model="whisper", file=make_wav(), **fields)
    assert (verbose.language, verbose.duration) == ("german", 2)
    assert [word.word for word in verbose.words] == ["One", "two", "Three", "four"]
    assert [segment.text for segment in verbose.segments] == [" One two.", " Three four."]
    assert list_unknown(verbose) == [".task"]  # Azure's description has it
    assert "-->" in client.audio.transcriptions.create(model="whisper", file=make_wav(), response_format="srt")
    fields = {"response_format": "diarized_json", "chunking_strategy": "auto"}
    spoken = client.audio.transcriptions.create(model="gpt-4o-transcribe-diarize", file=make_wav(), **fields)
    assert [segment.speaker for segment in spoken.segments] == ["A", "B"]
    assert list_unknown(spoken) == []


def test_streamed_transcription(client: JSON) -> None:
    made = client.audio.transcriptions.create
    *deltas, done = made(model="gpt-4o-transcribe", file=make_wav(), stream=True, include=["logprobs"])
    assert "".join(event.delta for event in deltas) == done.text == "One two. Three four."
    assert done.usage.input_token_details.audio_tokens == 20
    assert list_unknown([*deltas, done]) == []


def test_translation(client: JSON) -> None:
    assert client.audio.translations.create(model="whisper", file=make_wav()).text == "One two. Three four."
    with pytest.raises(openai.BadRequestError) as caught:
        client.audio.translations.create(model="gpt-4o-transcribe", file=make_wav())
    assert caught.value.code == "OperationNotSupported"


def test_spoken_text(client: JSON) -> None:
    make = client.audio.speech.create
    whole = make(model="tts", voice="alloy", input="Hello there", response_format="wav").read()
    with wave.open(io.BytesIO(whole)) as sound:
        assert sound.getnframes() / sound.getframerate() == pytest.approx(0.66, abs=0.03)
    parts = client.audio.speech.with_streaming_response.create
    with parts(model="tts", voice="alloy", input="Hello there", response_format="wav") as streamed:
        assert b"".join(streamed.iter_bytes()) == whole
    with pytest.raises(openai.BadRequestError) as caught:
        make(model="tts", voice="verse", input="Hello there")
    assert "Input should be 'nova'" in str(caught.value)


def test_image_edit(client: JSON) -> None:
    made = client.images.edit(model="gpt-image-1", prompt="a blue fox", image=[_PNG, _PNG], mask=_PNG, n=2)
    assert [b64decode(each.b64_json)[:4] for each in made.data] == [b"\x89PNG"] * 2
    assert made.usage.input_tokens_details.image_tokens == 2 * 194
    events = list(
        client.images.edit(model="gpt-image-1", prompt="a blue fox", image=_PNG, stream=True, partial_images=1)
    )
    assert [event.type for event in events] == ["image_edit.partial_image", "image_edit.completed"]
    with pytest.raises(openai.BadRequestError) as caught:
        client.images.edit(model="gpt-image-1", prompt="a", image=("a.gif", b"GIF89a", "image/gif"))
    assert caught.value.code == "unsupported_file_mimetype"


def test_vector_store(client: JSON) -> None:
    file = client.files.create(file=("pets.txt", b"Cats sleep. Dogs bark at night."), purpose="assistants")
    store = client.vector_stores.create(name="Pets", metadata={"a": "b"})
    attached = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id, attributes={"n": 1})
    assert (attached.status, attached.attributes) == ("completed", {"n": 1})
    batch = client.vector_stores.file_batches.create_and_poll(store.id, file_ids=[file.id])
    assert batch.file_counts.completed == 1
    (hit,) = client.vector_stores.search(store.id, query="dogs")
    assert (hit.filename, hit.content[0].text) == ("pets.txt", "Cats sleep. Dogs bark at night.")
    assert list_unknown([attached, batch, hit]) == []
    assert [each.id for each in client.vector_stores.files.list(store.id)] == [file.id]
    assert client.vector_stores.update(store.id, name="Animals").name == "Animals"
    assert store.id in [each.id for each in client.vector_stores.list()]
    assert client.vector_stores.delete(store.id).deleted
    with pytest.raises(openai.NotFoundError) as caught:
        client.vector_stores.retrieve(store.id)
    assert f"No vector store found with id '{store.id}'." in str(caught.value)


def test_file_search(client: JSON) -> None:
    tools = [{"type": "file_search", "vector_store_ids": ["vs_handbook"]}]
    fields = {"model": "gpt-4o", "input": "How many days of leave?", "tools": tools}
    made = client.responses.create(**fields, include=["file_search_call.results"])
    assert made.output_text == "Everyone has 30 days of leave."
    assert made.output[0].results[0].filename == "leave.md"
    assert made.output[1].content[0].annotations[0].type == "file_citation"
    with client.responses.stream(**fields) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert "response.file_search_call.searching" in kinds
    assert "response.output_text.annotation.added" in kinds
    assert final.output_text == made.output_text
    again = [*[item.model_dump(exclude_none=True) for item in made.output], {"role": "user", "content": "And leave?"}]
    assert client.responses.create(**{**fields, "input": again}).output_text == made.output_text
    with pytest.raises(openai.NotFoundError):
        client.responses.create(**{**fields, "tools": [{**tools[0], "vector_store_ids": ["vs_none"]}]})
