"""Small vocabularies in each kind of file."""

import json
from base64 import b64encode
from pathlib import Path

from emulator.core.json import JSON

_MERGED = (b"th", b"the", b" the", b" cat", b"in", b"ing", "我".encode(), "想".encode())
RANKS = [*(bytes((value,)) for value in range(256)), b"\xe6\x88", b" c", b"at", b" t", *_MERGED]
BYTES = b"".join(b"%b %d\n" % (b64encode(token), rank) for rank, token in enumerate(RANKS))
"""A ``*.tiktoken``: every byte, and some sequences."""

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}"
    "{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXTS = [
    *(
        "",
        " ",
        "the cat",
        "the  cat\n\n",
        "nothing else\tthe thing",
        "我想重置我的密码",
        "👩‍👩‍👧 café ünï 🙂🙂",
        "\ufeffa\u0301b",
    ),
    *("def f(x):\n    return x + 1", "1234567890", "<s>[INST] the </s>", "a" * 300, "\x00\x7f", "ab\r\ncd"),
]


def write_tekken(path: Path) -> Path:
    vocabulary: JSON = [{"rank": rank, "token_bytes": b64encode(token).decode()} for rank, token in enumerate(RANKS)]
    config: JSON = {
        "pattern": r"\s?\p{L}+|\p{N}|\s+|[^\s\p{L}\p{N}]+",
        "default_vocab_size": len(RANKS) + 20,
        "default_num_special_tokens": 20,
    }
    path.write_text(json.dumps({"config": config, "vocab": vocabulary}))
    return path


def write_hugging_face(path: Path) -> Path:
    """Write a byte-level ``tokenizer.json`` with special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the cat and the thing in the garden", "我想重置我的密码"] * 5, trainer)
    tokenizer.save(str(path))
    return path


def write_sentencepiece(path: Path) -> Path:
    """Write a ``tokenizer.model`` with fallback to bytes."""
    import io

    import sentencepiece

    model, sentences = io.BytesIO(), ["the cat and the thing in the garden", "reset my password", "我想重置我的密码"]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 20),
        model_writer=model,
        vocab_size=330,
        byte_fallback=True,
        model_type="bpe",
        minloglevel=2,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )
    path.write_bytes(model.getvalue())
    return path


def write_folder(path: Path) -> Path:
    """Write a folder with a ``tokenizer.json`` and its chat template."""
    path.mkdir()
    write_hugging_face(path / "tokenizer.json")
    config = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


def write_ranks(path: Path) -> Path:
    path.write_bytes(BYTES)
    return path


KINDS = {
    "mine.tiktoken": write_ranks,
    "tekken.json": write_tekken,
    "tokenizer.json": write_hugging_face,
    "tokenizer.model": write_sentencepiece,
    "folder": write_folder,
}
