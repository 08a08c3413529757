"""Tokenizers of real vocabularies: ids of their libraries, texts that join, and clear refusals."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unicodedata import normalize
from urllib.request import Request, urlopen

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from emulator import start as begin
from emulator.client import EmulatorClient
from emulator.core.requests import Message, Tool
from emulator.generation.prompt import count_chat
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.vocabulary_files import (
    MAX_FILE,
    PACKAGED_FILES,
    VocabularyError,
    VocabularyTokenizer,
    load_file,
    load_packaged,
)
from emulator.runtime.services import check_vendors
from emulator.scenario.load import load_scenario, load_text
from emulator.scenario.parsed import ScenarioError
from emulator.vendors import VENDORS
from tests.generation.vocabularies import BYTES, KINDS, RANKS, TEXTS, write_folder
from tests.untyped_json import JSON


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabularies")
    for name, write in KINDS.items():
        write(folder / name)
    return folder


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, folder: Path) -> VocabularyTokenizer:
    return load_file(str(folder / request.param))


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_text(tokenizer: VocabularyTokenizer, text: str) -> None:
    ids, pieces = tokenizer.encode(text), tokenizer.pieces(text)
    assert len(ids) == len(pieces) == tokenizer.count(text) == tokenizer.count_and_lean(text)[0]
    assert "".join(pieces) == text
    assert all(0 <= id < tokenizer.vocabulary_size for id in ids)


@given(text=st.text(max_size=40))
def test_any_text_is_cut_and_decoded(tokenizer: VocabularyTokenizer, text: str) -> None:
    assert "".join(tokenizer.pieces(text)) == text.encode("utf-8", "replace").decode()
    decoded = tokenizer.decode(tokenizer.encode(text))
    assert decoded == text or tokenizer.eos < 5  # special tokens in a text are skipped by this library


def test_ids_are_those_of_the_libraries(folder: Path) -> None:
    import sentencepiece

    hugging_face = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    for text in TEXTS:
        assert load_file(str(folder / "tokenizer.json")).encode(text) == hugging_face.encode(text).ids
        assert load_file(str(folder / "tokenizer.model")).encode(text) == processor.encode(text)


def test_ranks_follow_special_tokens(folder: Path) -> None:
    assert load_file(str(folder / "mine.tiktoken")).encode("the cat") == [RANKS.index(b"the"), RANKS.index(b" cat")]
    assert load_file(str(folder / "tekken.json")).encode("the cat") == [
        RANKS.index(b"the") + 20,
        RANKS.index(b" cat") + 20,
    ]


def test_incomplete_characters_have_no_text(folder: Path) -> None:
    assert load_file(str(folder / "mine.tiktoken")).pieces("我🙂") == ["我", "", "", "", "🙂"]


def test_chat_is_counted_in_its_template(folder: Path) -> None:
    tokenizer = load_file(str(folder / "folder"))
    assert (tokenizer.bos, tokenizer.eos) == (0, 1)
    messages = [Message("system", "the cat"), Message("user", "the thing")]
    ids = [tokenizer.encode(text) for text in ("the cat", "the thing")]
    assert count_chat(messages, (), tokenizer)[0] == 1 + (1 + len(ids[0]) + 1) + (1 + len(ids[1]) + 1) + 1
    tool = Tool(name="search", description="Find it.", parameters={})
    assert count_chat(messages, (tool,), tokenizer)[0] > count_chat(messages, (), tokenizer)[0] + 20


def test_rendered_chat_counts_as_its_library_does(folder: Path) -> None:
    """The parts between special tokens are cut one by one, so that repeated ones are cut once."""
    tokenizer = load_file(str(folder / "folder"))
    library = tokenizers.Tokenizer.from_file(str(folder / "folder" / "tokenizer.json"))
    assert tokenizer.render is not None
    for text in TEXTS:
        messages: JSON = [{"role": "system", "content": "the cat"}, {"role": "user", "content": text}]
        values = {"messages": messages, "tools": None, "add_generation_prompt": True}
        assert tokenizer.count_rendered(values) == len(library.encode(tokenizer.render(values)).ids)


def test_template_of_other_kinds_has_special_tokens(tmp_path: Path, folder: Path) -> None:
    """Their files do not name the tokens that a template adds; the configuration does."""
    (tmp_path / "tokenizer.model").write_bytes((folder / "tokenizer.model").read_bytes())
    added = {"7": {"content": "<|user|>", "special": True}, "8": {"content": "cat", "special": False}}
    config = {
        "bos_token": "<s>",
        "added_tokens_decoder": added,
        "chat_template": "<s><|user|>{{ messages[0].content }}</s>",
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = load_file(str(tmp_path))
    assert tokenizer.count_rendered({"messages": [{"content": "the cat"}]}) == 3 + tokenizer.count("the cat")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        pytest.param(lambda path: None, "No such file or directory", id="nothing"),
        pytest.param(lambda path: path.mkdir(), "contains no tokenizer.json", id="an empty folder"),
        pytest.param(lambda path: path.write_text("{"), "is no vocabulary", id="broken JSON"),
        pytest.param(lambda path: path.write_text("{}"), "is no vocabulary", id="other JSON"),
        pytest.param(
            lambda path: path.write_text('{"config": {}, "vocab": []}'), "is no vocabulary", id="half a tekken"
        ),
        pytest.param(lambda path: path.write_text("a 1\nb x\n"), "is no vocabulary", id="other lines"),
        pytest.param(lambda path: path.write_bytes(b"\x00\x01\x02" * 99), "is no vocabulary", id="other bytes"),
        pytest.param(lambda path: path.write_bytes(b""), "is no vocabulary", id="an empty file"),
    ],
)
def test_unusable_file_is_refused_in_a_line(tmp_path: Path, write: Callable[[Path], object], message: str) -> None:
    path = tmp_path / "given"
    write(path)
    with pytest.raises(VocabularyError, match=message) as caught:
        load_file(str(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(4 * MAX_FILE)
    with pytest.raises(VocabularyError, match="has 512 MiB; a vocabulary has at most 128"):
        load_file(str(path))


def test_a_million_blanks_are_counted(folder: Path) -> None:
    """More than tiktoken's search can hold: its panic is no exception that a handler catches."""
    tokenizer = load_file(str(folder / "mine.tiktoken"))
    assert 0 < tokenizer.count(" " * 1_000_000) <= 1_000_000
    assert "".join(tokenizer.pieces(" " * 200_001)) == " " * 200_001


def test_broken_template_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{% for")
    with pytest.raises(VocabularyError, match="the chat template cannot be read"):
        load_file(str(folder))


@cache
def open_qwen(path: Path) -> JSON:
    return pytest.importorskip("dashscope.tokenizers.qwen_tokenizer").QwenTokenizer(str(path))


def read_with_library(name: str, text: str) -> list[int]:
    """Return the ids by the library that reads the packaged file itself."""
    packaged = PACKAGED_FILES[name]
    module = pytest.importorskip(packaged.module)
    path = Path(module.__file__ or "").parent / packaged.path
    if name in ("anthropic", "deepseek"):
        file = path / "tokenizer.json" if path.is_dir() else path
        return [*tokenizers.Tokenizer.from_file(str(file)).encode(text, add_special_tokens=False).ids]
    if name == "mistral-v3":
        import sentencepiece

        return [*sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(text)]
    if name in ("llama-3", "llama-4"):
        own = pytest.importorskip(f"llama_models.{name.replace('-', '')}.tokenizer").Tokenizer.get_instance()
        return [*own.encode(text, bos=False, eos=False)]
    if name == "qwen-2":
        return [*open_qwen(path).encode(text)]
    import tiktoken

    return tiktoken.get_encoding(name).encode_ordinary(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGED_FILES)
def test_packaged_vocabulary_has_ids_of_its_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip(PACKAGED_FILES[name].module)
    file = Path(module.__file__ or "").parent / PACKAGED_FILES[name].path
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(file.parent))  # tiktoken compares the file with the digest it knows
    tokenizer = load_packaged(name)
    for text in TEXTS:
        assert "".join(tokenizer.pieces(text)) == text
        composed = normalize("NFC", text)  # Qwen's own tokenizer begins with it
        assert name == "tekken" or tokenizer.encode(composed) == read_with_library(name, composed)
    if name == "tekken":  # the ids of mistral-common 1.13.1, which takes half a minute to import
        assert tokenizer.encode("Hello world, 我想 🙂") == [22177, 4304, 1044, 1032, 26060, 119685, 1153, 1130]


def ask(client: EmulatorClient, path: str, body: JSON) -> JSON:
    request = Request(client.url("tgi") + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as response:
        return json.load(response)


def test_calls_count_and_cut_by_the_vocabulary(folder: Path) -> None:
    file = folder / "tokenizer.json"
    tokenizer = tokenizer_for(f"file:{file}")
    deployment: JSON = {"vendor": "tgi", "name": "tgi", "tokenizer": {"file": str(file)}}
    text = "the cat and the thing"
    with begin(deployments=[deployment], rules=[{"name": "fixed", "reply": {"text": text}}]) as client:
        found = ask(client, "/tokenize", {"inputs": "the cat 我"})
        ids = tokenizer.encode("the cat 我")
        assert [token["id"] for token in found][-len(ids) :] == ids
        places = {token["start"]: token["text"] for token in found}  # tokens of one character share its place
        assert "".join(places.values()) == "the cat 我"
        body = {"model": "tgi", "messages": [{"role": "user", "content": "the cat"}], "max_tokens": 3}
        answer = ask(client, "/v1/chat/completions", body)
    assert answer["choices"][0]["message"]["content"] == "".join(tokenizer.pieces(text)[:3])
    assert answer["usage"]["completion_tokens"] == 3


def test_path_is_relative_to_the_scenario_and_not_taken_from_a_sent_one(folder: Path, tmp_path: Path) -> None:
    written = folder / "scenario.yaml"
    written.write_text(SCENARIO)
    (entry,) = load_scenario([written]).scenario.deployments
    assert entry.to_deployment(None).tokenizer == f"file:{folder / 'tokenizer.json'}"
    assert check_vendors(load_scenario([written]), VENDORS)
    missing = tmp_path / "scenario.yaml"
    missing.write_text(SCENARIO)
    with pytest.raises(ScenarioError, match="No such file"):
        check_vendors(load_scenario([missing]), VENDORS)


@pytest.mark.parametrize("inside", [False, True], ids=["a file", "a file of a folder"])
def test_changed_vocabulary_is_read_with_the_next_scenario(tmp_path: Path, inside: bool) -> None:
    file, written = tmp_path / "vocabulary" / "mine.tiktoken", tmp_path / "scenario.yaml"
    file.parent.mkdir()
    named = file.parent if inside else file
    written.write_text(SCENARIO.replace("tokenizer.json", str(named)))

    def count() -> int:
        return tokenizer_for(f"file:{named}").count("the cat")

    file.write_bytes(BYTES)
    assert check_vendors(load_scenario([written]), VENDORS)
    first = tokenizer_for(f"file:{named}")
    assert count() == 2
    file.write_bytes(b"".join(BYTES.splitlines(keepends=True)[:256]))  # bytes alone
    assert count() == 2  # no request reads files
    assert check_vendors(load_scenario([written]), VENDORS)
    assert count() == 7
    assert first.count("the cat") == 2
    second = tokenizer_for(f"file:{named}")
    assert check_vendors(load_scenario([written]), VENDORS)
    assert tokenizer_for(f"file:{named}") is second
    file.write_bytes(b"no vocabulary")
    with pytest.raises(ScenarioError, match="is no vocabulary"):
        check_vendors(load_scenario([written]), VENDORS)
    assert count() == 7


@pytest.mark.parametrize(("name", "message"), [("o200k_bas", "did you mean o200k_base"), ("lama3", "llama3")])
def test_unknown_name_is_a_mistake(name: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        check_vendors(load_text(SCENARIO.replace("{file: tokenizer.json}", name)), VENDORS)


SCENARIO = "version: 1\nname: mine\ndeployments: [{vendor: tgi, name: tgi, tokenizer: {file: tokenizer.json}}]\n"
