"""Counts, ids and places of 2,000 texts of twelve kinds equal those of the vocabulary's own library, in each vendor."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator import start as begin
from emulator.client import EmulatorClient
from emulator.generation.text import load_prose
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.vocabulary_files import PACKAGED_FILES
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
_TEXTS = 2000
_EMOJI = (
    *("🙂", "👍🏽", "👩\u200d👩\u200d👧", "❤️", "🇩🇪", "🎉🎉", "☕", "✨", "🤷\u200d♀️", "🧑🏿\u200d🚀"),
    *("ok", "yes", "1️⃣", "🏳️\u200d🌈"),
)
_ODD = (
    "\u0301",
    "\u200d",
    "\ufeff",
    "\u202e",
    "\x00",
    "\x7f",
    "\u00a0",
    "\u3000",
    "\U0010ffff",
    "ﬁ",
    "İ",
    "ǅ",
    "𝒳",
    "\t",
    "\r\n",
)
_BLANKS = (" ", "  ", "\n", "\n\n", "\t", "\r\n", " \n", "    ", "a", "B", ".", "'s", "1", "_")
_LOCALES = {"English": "en_US", "German": "de_DE", "Spanish": "es_ES", "Russian": "ru_RU", "Chinese": "zh_CN"}
_MORE_LOCALES = {"Japanese": "ja_JP", "Korean": "ko_KR"}
Draw = random.Random


def cut_file(draw: Draw, path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    at = draw.randrange(len(text) - 300)
    return text[at : at + draw.randint(1, 300)]


def draw_prose(draw: Draw, locale: str) -> str:
    prose = load_prose(locale)
    return prose.separator.join(draw.choices(prose.sentences, k=draw.randint(1, 4)))


def draw_characters(draw: Draw) -> str:
    """Draw any characters but surrogates, of which UTF-8 has none."""
    codes = [draw.choice([draw.randrange(0x250), draw.randrange(0x10000), draw.randrange(0x110000)]) for _ in range(12)]
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


KINDS: dict[str, Callable[[Draw], str]] = {
    **{name: partial(draw_prose, locale=locale) for name, locale in {**_LOCALES, **_MORE_LOCALES}.items()},
    "Python": partial(cut_file, path="emulator/http/connection.py"),
    "JSON": partial(cut_file, path="scenarios/schema.json"),
    "emoji": lambda draw: draw.choice(["", " "]).join(draw.choices(_EMOJI, k=draw.randint(1, 12))),
    "blanks": lambda draw: "".join(draw.choices(_BLANKS, k=draw.randint(1, 20))),
    "any characters": lambda draw: draw_characters(draw) + "".join(draw.choices(_ODD, k=draw.randint(0, 6))),
}


def draw_texts() -> dict[str, list[str]]:
    """Draw 2,000 texts; none is empty, which some vendors refuse."""
    count = -(-_TEXTS // len(KINDS))
    return {kind: [write(Draw(f"{kind} {number}")) or "x" for number in range(count)] for kind, write in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Cut:
    """Tokens of a text as a library gives them; ``starts``: the byte where the first character of each begins."""

    ids: list[int]
    starts: list[int]


def number_bytes(text: str) -> list[int]:
    """Return the byte at which each character begins, and the end."""
    return [0, *accumulate(len(character.encode()) for character in text)]


def open_tiktoken(path: Path) -> Callable[[str], Cut]:
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")  # by tiktoken's own names, ranks and pattern

    def cut(text: str) -> Cut:
        ids, byte_of = encoding.encode_ordinary(text), number_bytes(text)
        return Cut(ids, [byte_of[place] for place in encoding.decode_with_offsets(ids)[1]])

    return cut


def open_tokenizers(path: Path) -> Callable[[str], Cut]:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))

    def cut(text: str) -> Cut:
        encoding, byte_of = tokenizer.encode(text, add_special_tokens=False), number_bytes(text)
        return Cut([*encoding.ids], [byte_of[start] for start, _ in encoding.offsets])

    return cut


def open_sentencepiece(path: Path) -> Callable[[str], Cut]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def cut(text: str) -> Cut:
        pieces = processor.encode(text, return_type="proto").pieces
        ends = [*accumulate(len(piece.surface.encode()) for piece in pieces)]
        return Cut([piece.id for piece in pieces], [0, *ends[:-1]])

    return cut


LIBRARIES = {"o200k_base": open_tiktoken, "anthropic": open_tokenizers, "mistral-v3": open_sentencepiece}


@pytest.fixture(scope="module", params=LIBRARIES)
def name(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if find_spec(PACKAGED_FILES[name].module) is None:
        pytest.skip(f"{PACKAGED_FILES[name].package} is not installed")
    return name


@pytest.fixture(scope="module")
def cuts(name: str) -> dict[str, list[tuple[str, Cut]]]:
    """Return the texts of each kind, cut by the library."""
    spec = find_spec(PACKAGED_FILES[name].module)
    assert spec is not None
    path = Path(spec.origin or "").parent / PACKAGED_FILES[name].path
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(path.parent))
        cut = LIBRARIES[name](path)
    return {kind: [(text, cut(text)) for text in texts] for kind, texts in draw_texts().items()}


def test_counts_ids_and_places_are_those_of_the_library(name: str, cuts: dict[str, list[tuple[str, Cut]]]) -> None:
    tokenizer = tokenizer_for(name)
    assert sum(map(len, cuts.values())) >= _TEXTS
    assert len(cuts) == 12
    for kind, rows in cuts.items():
        for text, cut in rows:
            assert tokenizer.encode(text) == cut.ids, (kind, text)
            assert tokenizer.count(text) == tokenizer.count_and_lean(text)[0] == len(cut.ids), (kind, text)
            assert [start for start, _ in tokenizer.places(text)] == cut.starts, (kind, text)
            assert "".join(tokenizer.pieces(text)) == text, (kind, text)


class Client:
    """Connections to the ports of an emulator."""

    def __init__(self, emulator: EmulatorClient) -> None:
        self._urls = {vendor: urlsplit(emulator.url(vendor)) for vendor in CHATS}
        self._open: dict[str, HTTPConnection] = {}

    def send(self, vendor: str, path: str, body: JSON) -> bytes:
        url = self._urls[vendor]
        connection = self._open.setdefault(vendor, HTTPConnection(str(url.hostname), url.port, timeout=60))
        headers = {"Content-Type": "application/json", "Authorization": "Bearer k", "api-key": "k"}
        connection.request("POST", url.path + path, json.dumps(body), headers)
        response = connection.getresponse()
        data = response.read()
        assert response.status == 200, data
        return data

    def ask(self, vendor: str, path: str, body: JSON) -> JSON:
        return json.loads(self.send(vendor, path, body))

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


CHATS = {
    "databricks": "/serving-endpoints/mine/invocations",
    "azure": "/openai/v1/chat/completions",
    "mindie": "/v1/chat/completions",
    "tgi": "/v1/chat/completions",
    "openvino": "/v3/chat/completions",
}
EMBEDDINGS = {
    "databricks": "/serving-endpoints/vectors/invocations",
    "azure": "/openai/v1/embeddings",
    "openvino": "/v3/embeddings",
}


@pytest.fixture(scope="module")
def client(name: str) -> Iterator[Client]:
    deployments: JSON = [{"vendor": vendor, "name": "mine", "tokenizer": name} for vendor in CHATS]
    vectors = {"name": "vectors", "task": "embeddings", "dimensions": 64, "tokenizer": name}
    deployments += [{"vendor": vendor, **vectors} for vendor in EMBEDDINGS]
    echo: JSON = {"name": "echo", "reply": {"text": "{prompt}", "template": True}}
    releases = {"openvino": {"profile": "2026.2"}}
    with begin(clock="instant", deployments=deployments, rules=[echo], vendors=releases) as emulator:
        client = Client(emulator)
        yield client
        client.close()


def list_sendable(rows: Sequence[tuple[str, Cut]], count: int) -> list[tuple[str, Cut]]:
    """Return texts that no vendor changes or refuses: neither blank alone, nor with blanks or controls at an end."""
    return [row for row in rows if row[0].strip() == row[0] and row[0].isprintable()][:count]


def read_chat(client: Client, vendor: str, text: str) -> tuple[JSON, str]:
    """Return the usage of a chat and its text, which a stream of the same has in parts."""
    body: JSON = {"model": "mine", "messages": [{"role": "user", "content": text}], "max_tokens": 2000}
    whole = client.ask(vendor, CHATS[vendor], body)
    events = client.send(vendor, CHATS[vendor], {**body, "stream": True}).split(b"\n\n")
    data = [event.partition(b"data:")[2] for event in events if b"data:" in event]
    choices = [json.loads(line).get("choices") or [] for line in data if b"[DONE]" not in line]
    said = whole["choices"][0]["message"]["content"]
    parts = [choice["delta"].get("content") or "" for each in choices for choice in each]
    assert "".join(parts) == said, (vendor, text)
    return whole["usage"], said


def count_prompt(client: Client, vendor: str, text: str, cut: Cut) -> int:
    """Return the tokens of a text, by the library; in TGI, where it merges with its template, those of the route."""
    if vendor != "tgi":
        return len(cut.ids)
    chat = {"messages": [{"role": "user", "content": text}]}
    return len(client.ask(vendor, "/chat_tokenize", chat)["tokenize_response"])


@pytest.mark.parametrize("vendor", CHATS)
def test_usage_of_chats_counts_by_the_vocabulary(
    client: Client, name: str, vendor: str, cuts: dict[str, list[tuple[str, Cut]]]
) -> None:
    """The tokens around a text are the same for every text."""
    around = set()
    for rows in cuts.values():
        for text, cut in list_sendable(rows, 5):
            usage, said = read_chat(client, vendor, text)
            assert said == text
            around.add(usage["prompt_tokens"] - count_prompt(client, vendor, text, cut))
            assert usage["completion_tokens"] - len(cut.ids) in (0, 1), (text, usage)  # some count the end
    assert len(around) == 1


@pytest.mark.parametrize("vendor", EMBEDDINGS)
def test_usage_of_embeddings_counts_by_the_vocabulary(
    client: Client, name: str, vendor: str, cuts: dict[str, list[tuple[str, Cut]]]
) -> None:
    around = tokenizer_for(name).profile.per_text
    for kind, rows in cuts.items():
        texts = [text for text, _ in rows]
        parts = [texts[at : at + 100] for at in range(0, len(texts), 100)]
        answers = [client.ask(vendor, EMBEDDINGS[vendor], {"model": "vectors", "input": part}) for part in parts]
        counted = sum(answer["usage"]["prompt_tokens"] for answer in answers)
        assert counted == sum(len(cut.ids) + around for _, cut in rows), kind


def test_tokenize_routes_give_ids_and_places(client: Client, name: str, cuts: dict[str, list[tuple[str, Cut]]]) -> None:
    tokenizer = tokenizer_for(name)
    extra = 0 if tokenizer.bos is None else 1
    for kind, rows in cuts.items():
        texts = [text for text, _ in rows]
        ids = client.ask("openvino", "/v3/tokenize", {"model": "vectors", "text": texts, "add_special_tokens": False})
        assert ids["tokens"] == [cut.ids for _, cut in rows], kind
        for text, cut in rows:
            found = client.ask("tgi", "/tokenize", {"inputs": text})[extra:]
            assert [token["id"] for token in found] == cut.ids, (kind, text)
            assert [token["start"] for token in found] == cut.starts, (kind, text)
            data = text.encode()
            assert all(data[token["start"] : token["stop"]].decode() == token["text"] for token in found)
        for text, cut in rows[::4]:
            counted = client.ask("mindie", "/v1/tokenizer", {"inputs": text})
            assert counted["token_number"] == len(cut.ids) + extra, (kind, text)
            assert "".join(counted["tokens"][extra:]) == text
