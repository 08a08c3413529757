"""Vectors whose cosines mean something, in every length and encoding."""

import json
from base64 import b64decode, b64encode
from hashlib import sha256

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.core.geometry import Geometry, Near, Ranking, normalize
from emulator.encoding.floats import dump_base64, dump_float32, dump_int8, pack_ubinary
from emulator.generation.embeddings.declared import count_block, embed_texts
from emulator.generation.embeddings.lexical import _vectors_of

DECLARED = Geometry(
    kind="declared",
    clusters={"animals": ("cat", "kitten", "dog"), "vehicles": ("car", "lorry")},
    near=(Near("cat", "dog", 0.83), Near("cat", "lorry", 0.33)),
    rankings=(Ranking("a pet", ("dog", "cat")), Ranking("/wheels?/", ("lorry", "car"), lambda text: "wheel" in text)),
    captions={"https://host/1.png": "cat", sha256(b"picture").hexdigest(): "dog"},
    key="declared",
)
LEXICAL = Geometry(kind="lexical", key="lexical")
MODEL = b"model of this test"


def embed(
    geometry: Geometry, *texts: str, dimensions: int = 1024, length: int = 0, model: bytes = MODEL
) -> NDArray[np.float64]:
    keys = [text.encode("utf-8", "surrogatepass") for text in texts]
    rows = embed_texts(geometry, texts, keys, dimensions, length or dimensions, model)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows.astype(np.float64), axis=1) == pytest.approx(1.0, abs=2e-6)
    return rows.astype(np.float64)


def cosine(geometry: Geometry, one: str, other: str, **given: int) -> float:
    rows = embed(geometry, one, other, **given)  # type: ignore[arg-type]
    return float(rows[0] @ rows[1])


def decode_all(rows: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
    """Return the rows as a client reads them from each encoding."""
    data = [b64decode(json.loads(text)) for text in dump_base64(rows)]
    bits = [np.unpackbits(np.array(json.loads(text), dtype=np.uint8)) for text in pack_ubinary(rows)]
    read = {
        "float": [json.loads(text) for text in dump_float32(rows)],
        "base64": [np.frombuffer(text, dtype="<f4") for text in data],
        "int8": [json.loads(text) for text in dump_int8(rows)],
        "binary": [bit.astype(np.float64) * 2 - 1 for bit in bits],
    }
    arrays = {name: np.array(found, dtype=np.float64) for name, found in read.items()}
    return {name: found / np.linalg.norm(found, axis=1, keepdims=True) for name, found in arrays.items()}


@pytest.mark.parametrize(
    ("dimensions", "length"),
    [(1024, 1024), (1536, 1536), (3072, 3072), (1024, 256), (1536, 512), (100, 64), (1000, 1000)],
)
def test_declared_cosines_hold_in_whole_and_shortened_vectors(dimensions: int, length: int) -> None:
    given = {"dimensions": dimensions, "length": length}
    assert cosine(DECLARED, "cat", "dog", **given) == pytest.approx(0.83, abs=1e-3)
    assert cosine(DECLARED, "Cat ", "lorry", **given) == pytest.approx(0.33, abs=1e-3)
    dog, cat, kitten = (cosine(DECLARED, "a pet", text, **given) for text in ("dog", "cat", "kitten"))
    assert dog > cat > kitten


def test_declared_cosines_of_odd_length_are_within_bound() -> None:
    """The error is at most the block over the length: 64 / 200."""
    assert cosine(DECLARED, "cat", "dog", length=200) == pytest.approx(0.83, abs=0.32)
    assert cosine(DECLARED, "cat", "car", length=200) < 0.5


@pytest.mark.parametrize(("encoding", "slack"), [("float", 1e-3), ("base64", 1e-3), ("int8", 0.01), ("binary", 1.0)])
def test_encodings_keep_cosines_and_ranks(encoding: str, slack: float) -> None:
    texts = ["cat", "dog", "lorry", "car", "a pet", "kitten"]
    rows = decode_all(embed_texts(DECLARED, texts, [b""] * 6, 1024, 1024, MODEL))[encoding]
    cosines = rows @ rows.T
    assert cosines[0, 1] == pytest.approx(0.83, abs=slack)
    assert cosines[0, 2] == pytest.approx(0.33, abs=slack)
    assert cosines[0, 1] > cosines[0, 2] > cosines[0, 3]
    assert cosines[4, 1] > cosines[4, 0] > cosines[4, 5]


@pytest.mark.parametrize("seed", range(3))
def test_binary_vectors_keep_order_of_cosines_a_tenth_apart(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((20, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [(a, b) for a in range(20) for b in range(a) if draw.random() < 0.3]
    near = tuple(Near(f"t{a}", f"t{b}", round(float(rows[a] @ rows[b]), 3)) for a, b in pairs)
    texts = [f"t{number}" for number in range(20)]
    geometry = Geometry(kind="declared", near=near, key=f"binary {seed}")
    bits = decode_all(embed_texts(geometry, texts, [b""] * 20, 1024, 1024, MODEL))["binary"]
    found = [(pair.cosine, float(bits[a] @ bits[b])) for pair, (a, b) in zip(near, pairs, strict=True)]
    wrong = [(one, two) for one in found for two in found if one[0] > two[0] + 0.1 and one[1] <= two[1]]
    assert wrong == []


def test_text_that_matches_pattern_is_query() -> None:
    assert cosine(DECLARED, "has four wheels", "lorry") > cosine(DECLARED, "has four wheels", "car") > 0.4


def test_image_counts_as_its_caption() -> None:
    data = "data:image/png;base64," + b64encode(b"picture").decode()
    assert cosine(DECLARED, "https://host/1.png\n", f"{data}\n") == pytest.approx(0.83, abs=1e-3)
    assert abs(cosine(DECLARED, "data:image/png;base64,AAAA\n", "dog")) < 0.2


def test_undeclared_text_is_far_from_declared_ones() -> None:
    assert abs(cosine(DECLARED, "an essay on monetary policy", "cat")) < 0.2
    assert cosine(DECLARED, "the king of the tides", "the tides of the king") > 0.8


def test_models_share_cosines_but_not_coordinates() -> None:
    for geometry in (DECLARED, LEXICAL):
        one, other = (embed(geometry, "cat", "dog", model=model) for model in (b"one" * 8, b"two" * 8))
        assert one[0] @ one[1] == pytest.approx(other[0] @ other[1], abs=0.1)
        assert abs(one[0] @ other[0]) < 0.3


def test_vectors_are_the_same_bits_everywhere() -> None:
    rows = embed_texts(DECLARED, ["cat", "a whole sentence, 我想"], [b"", b""], 1024, 256, MODEL)
    assert sha256(rows.astype("<f4").tobytes()).hexdigest()[:32] == "4914de63615705b30218176c415aa5a8"


def test_row_is_independent_of_batch() -> None:
    texts = ["cat", "one", "dog", "two words", ""]
    rows = embed_texts(DECLARED, texts, [b"k"] * 5, 512, 512, MODEL)
    for number, text in enumerate(texts):
        assert np.array_equal(rows[number], embed_texts(DECLARED, [text], [b"k"], 512, 512, MODEL)[0])


def test_caller_cannot_change_cached_rows() -> None:
    """Vectors of texts are cached, whether all, some or none of a batch came before: read-only or copied."""
    texts = ["a cached text", "another one", "a third"]
    for batch in (texts[:1], texts[:1], texts, texts):
        rows = embed_texts(LEXICAL, batch, [b""] * len(batch), 512, 512, MODEL)
        before = rows.copy()
        if rows.flags.writeable:
            rows[:] = 0.0
        again = embed_texts(LEXICAL, batch, [b""] * len(batch), 512, 512, MODEL)
        assert np.array_equal(before, again)
        assert again.any(axis=1).all()


def test_cached_vector_holds_no_memory_of_its_batch() -> None:
    embed_texts(LEXICAL, ["the same text"] * 64, [b""] * 64, 256, 256, MODEL)
    base = _vectors_of(MODEL, 256)["the same text"].base
    assert isinstance(base, np.ndarray)
    assert base.nbytes == 256 * 4


def test_long_texts_of_odd_sizes_have_length_one() -> None:
    words = " ".join(f"word{number} other{number}" for number in range(4000))
    for dimensions in (100, 1024, 65_536):
        rows = embed_texts(LEXICAL, ["cat", words, "x"], [b""] * 3, dimensions, dimensions, MODEL).astype(np.float64)
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=2e-5)


PARAPHRASES = [
    ("How do I reset my password?", "How can I reset a forgotten password?"),
    ("The cat sat on the mat.", "A cat was sitting on a mat."),
    ("Refund my order please", "I would like a refund for my order"),
    ("Wie kann ich mein Passwort zurücksetzen?", "Ich möchte mein Passwort zurücksetzen."),
    ("¿Cómo puedo cancelar mi pedido?", "Quiero cancelar el pedido."),
    ("如何重置我的密码", "我想重置密码"),
]
SAME_TOPIC = [
    ("The cat sat on the mat.", "My cat chased a mouse in the garden."),
    ("How do I reset my password?", "Your password must have eight characters."),
    ("Refund my order please", "When will my order arrive?"),
    ("Wie kann ich mein Passwort zurücksetzen?", "Das Passwort hat acht Zeichen."),
    ("如何重置我的密码", "密码必须有八个字符"),
]
UNRELATED = [
    ("How do I reset my password?", "The tides are caused by the moon."),
    ("The cat sat on the mat.", "Quarterly revenue grew by ten percent."),
    ("Wie kann ich mein Passwort zurücksetzen?", "Der Mond verursacht die Gezeiten."),
    ("如何重置我的密码", "今天天气很好"),
    ("¿Cómo puedo cancelar mi pedido?", "La luna causa las mareas."),
]


# A question in each further language, with a paraphrase, a text on its topic, and an unrelated one.
MORE = [
    (
        "Comment puis-je réinitialiser mon mot de passe ?",
        "Je voudrais réinitialiser mon mot de passe.",
        "Le mot de passe doit avoir huit caractères.",
        "La lune provoque les marées.",
    ),
    (
        "Come posso reimpostare la mia password?",
        "Vorrei reimpostare la password.",
        "La password deve avere otto caratteri.",
        "La luna causa le maree.",
    ),
    (
        "Como posso redefinir minha senha?",
        "Quero redefinir a minha senha.",
        "A senha deve ter oito caracteres.",
        "A lua causa as marés.",
    ),
    (
        "Hoe kan ik mijn wachtwoord opnieuw instellen?",
        "Ik wil mijn wachtwoord opnieuw instellen.",
        "Het wachtwoord heeft acht tekens.",
        "De maan veroorzaakt de getijden.",
    ),
    (
        "Jak mogę zresetować moje hasło?",
        "Chcę zresetować hasło.",
        "Hasło musi mieć osiem znaków.",
        "Księżyc powoduje pływy morskie.",
    ),
    (
        "Как мне сбросить свой пароль?",
        "Я хочу сбросить свой пароль.",
        "Пароль должен содержать восемь символов.",
        "Луна вызывает приливы и отливы.",
    ),
    (
        "パスワードをリセットする方法を教えてください",
        "パスワードをリセットしたいです",
        "パスワードは八文字以上です",
        "月が潮の満ち引きを起こします",
    ),
    (
        "비밀번호를 어떻게 재설정하나요?",
        "비밀번호를 재설정하고 싶어요",
        "비밀번호는 여덟 글자입니다",
        "달이 조수를 일으킵니다",
    ),
]


@pytest.mark.parametrize(
    ("pairs", "least", "most"),
    [
        pytest.param([*PARAPHRASES, *((row[0], row[1]) for row in MORE)], 0.55, 0.95, id="paraphrases"),
        pytest.param([*SAME_TOPIC, *((row[0], row[2]) for row in MORE)], 0.2, 0.65, id="same topic"),
        pytest.param([*UNRELATED, *((row[0], row[3]) for row in MORE)], -0.1, 0.2, id="unrelated"),
    ],
)
def test_lexical_cosines_fall_in_bands(pairs: list[tuple[str, str]], least: float, most: float) -> None:
    found = {pair: round(cosine(LEXICAL, *pair), 3) for pair in pairs}
    assert {pair: value for pair, value in found.items() if not least <= value <= most} == {}


def test_forms_of_a_word_are_close() -> None:
    for one, other in (("cat", "cats"), ("running", "runs"), ("Katze", "Katzen"), ("kitten", "kittens")):
        assert cosine(LEXICAL, one, other) > 0.8


@pytest.mark.parametrize("text", ["", " ", "?!", "\ud800", "a" * 100_000, "\u0e01\u0e02", "\x00"])
def test_any_text_has_a_vector(text: str) -> None:
    assert np.isfinite(embed(LEXICAL, text, dimensions=64)).all()


@pytest.mark.parametrize(
    ("texts", "dimensions", "block"),
    [(3, 1024, 64), (65, 1024, 128), (512, 512, 512), (513, 1000, 0), (9, 16, 16), (17, 16, 0)],
)
def test_block_holds_texts(texts: int, dimensions: int, block: int) -> None:
    assert count_block(texts, dimensions) == block


def test_normalized_texts_are_alike() -> None:
    assert normalize(" A\u00a0Pet\n") == normalize("a pet")
