"""Every text comes back from its ids, in every process, and counts are those a real family would give."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.vendor import Tokenizer
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES

EVERY = sorted(PROFILES)
UNICODE = st.text(st.characters(codec="utf-8"))
PROMPT = "My name is Olivier and I"

ENGLISH = """Regional trains between the coast and the capital were delayed for most of Tuesday after a storm brought
down several trees near the old bridge. Engineers worked through the night to clear the tracks, while volunteers from
two villages served soup and coffee to passengers who could not continue their journey. "We expected to be home by
seven," said Margaret Ellison, a retired teacher from Norwich, "but nobody complained, and the children thought it was
an adventure." A spokesman for the railway company admitted that the overhead wires had not been inspected since autumn
and promised a full review. Insurance experts estimate the damage at roughly four million pounds. Meanwhile,
meteorologists warn that stronger gusts may arrive before the weekend, and they advise residents to secure loose
furniture, avoid forests, and keep mobile phones charged. Schools along the line will reopen on Thursday, provided that
inspectors find no cracks in the foundations of the viaduct.""".replace("\n", " ")
GERMAN = """Nach dem Sturm am Dienstag standen die Züge zwischen der Küste und der Hauptstadt fast den ganzen Tag still.
Mehrere Bäume waren auf die Gleise gestürzt, und an der alten Brücke hatte der Wind eine Oberleitung beschädigt.
Fachleute arbeiteten die ganze Nacht, während Freiwillige aus zwei Dörfern den wartenden Fahrgästen Suppe und Kaffee
brachten. Eine pensionierte Lehrerin erzählte, dass sich niemand beschwert habe und die Kinder alles für ein Abenteuer
hielten. Die Bahn räumte ein, dass die Leitungen seit dem Herbst nicht mehr geprüft worden waren, und kündigte eine
gründliche Untersuchung an. Versicherungen schätzen den Schaden auf etwa vier Millionen Euro. Der Wetterdienst warnt
unterdessen vor weiteren Böen und rät den Anwohnern, lose Möbel zu sichern und den Wald zu meiden. Am Donnerstag sollen
die Schulen entlang der Strecke wieder öffnen.""".replace("\n", " ")
CHINESE = (
    "星期二的暴风雨吹倒了老桥附近的几棵大树，海岸和首都之间的火车几乎停运了一整天。工程师连夜清理轨道，"
    "两个村子的志愿者给滞留的乘客送去了热汤和咖啡。一位退休的老师说，大家都没有抱怨，孩子们还觉得这是一次冒险。"
    "铁路公司承认，从秋天以来一直没有检查过架空电线，并且保证进行全面调查。保险专家估计，损失大约为四百万元。"
    "气象部门提醒居民，周末之前可能还会有更强的大风，请大家固定好室外的家具，不要进入树林，并给手机充好电。"
)
CODE = 'def mean(values: list[float]) -> float:\n    """Average."""\n    return sum(values) / len(values)\n'
JSON_TEXT = '{"model":"m","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}'


@pytest.fixture(params=EVERY)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return tokenizer_for(request.param)


@given(text=UNICODE, name=st.sampled_from(EVERY))
def test_encode_decode_round_trips(text: str, name: str) -> None:
    tokenizer = tokenizer_for(name)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.count(text) == len(ids)


@given(text=UNICODE, name=st.sampled_from(EVERY))
def test_pieces_match_token_count_and_join_to_text(text: str, name: str) -> None:
    tokenizer = tokenizer_for(name)
    pieces = tokenizer.pieces(text)
    assert len(pieces) == tokenizer.count(text)
    assert "".join(pieces) == text


@given(text=UNICODE, name=st.sampled_from(EVERY))
def test_encoded_ids_are_in_vocabulary_and_not_special(text: str, name: str) -> None:
    profile = PROFILES[name]
    ids = tokenizer_for(name).encode(text)
    assert all(0 <= id < profile.vocabulary_size and id not in profile.special for id in ids)


def test_distinct_words_have_distinct_ids(tokenizer: Tokenizer) -> None:
    words = dict.fromkeys(ENGLISH.split() + GERMAN.split() + list(CHINESE) + [chr(code) for code in range(0x80)])
    assert len({tuple(tokenizer.encode(word)) for word in words}) == len(words)


@pytest.mark.parametrize("code", [0x4E00, 0x9FFF, 0xAC00, 0xD7A3], ids=hex)
def test_cjk_characters_are_single_tokens_in_gpt(code: int) -> None:
    assert tokenizer_for("gpt").count(chr(code)) == 1
    assert tokenizer_for("gpt").decode(tokenizer_for("gpt").encode(chr(code))) == chr(code)


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        pytest.param("qwen2", PROMPT, [5050, 829, 374, 77018, 323, 358], id="qwen2 prompt"),
        pytest.param(
            "qwen2",
            "'m a software engineer from France. I love to build things, especially web applications and mobile apps.",
            [
                *(2776, 264, 3162, 23576, 504, 9625, 13, 358, 2948, 311, 1936, 2513, 11, 5310, 3482, 8357, 323, 6371),
                *(10500, 13),
            ],
            id="qwen2 answer",
        ),
        pytest.param("qwen2", ", i need you", [11, 600, 1184, 498], id="qwen2 stream"),
        pytest.param("qwen2", "Hello! How can\n", [9707, 0, 2585, 646, 198], id="qwen2 greeting"),
        pytest.param(
            "llama2",
            "'m a French guy who is looking for a place to live in. I'm a",
            [
                *(29915, 29885, 263, 5176, 1410, 29891, 1058, 338, 3063, 363, 263, 2058, 304, 5735, 297, 29889, 306),
                *(29915, 29885, 263),
            ],
            id="llama2 stream",
        ),
        pytest.param("llama2", "\n", [13], id="llama2 line feed is a byte token"),
    ],
)
def test_encoding_matches_documented_ids(name: str, text: str, ids: list[int]) -> None:
    assert tokenizer_for(name).encode(text) == ids


def test_llama2_splits_unknown_word_and_adds_bos() -> None:
    pieces = tokenizer_for("llama2").pieces(PROMPT)
    assert len(pieces) + PROFILES["llama2"].per_text == 8
    assert "".join(pieces[3:5]) == " Olivier"


# Frozen: an id that a client stored must mean the same after an upgrade, also one that is no longer the text's own.
SAMPLE = "Hello, Müller: 你好 2024! 😀\n"
GOLDEN = {
    "llama3": [5449, 11, 268, 26445, 24004, 25, 220, 3039, 220, 1064, 19, 0, 220, 172, 253, 246, 222, 198],
    "qwen2": [9707, 11, 268, 26447, 24006, 25, 220, 3052, 220, 17, 15, 17, 19, 0, 26991, 198],
    "llama2": [
        5525,
        29892,
        344,
        26517,
        24076,
        282,
        29871,
        3119,
        29871,
        274,
        272,
        274,
        276,
        259,
        29871,
        243,
        162,
        155,
        131,
        13,
    ],
    "gpt": [5449, 11, 268, 26445, 24004, 25, 220, 3039, 220, 1064, 19, 0, 26990, 198],
    "claude": [5449, 11, 268, 26445, 24004, 25, 220, 3039, 220, 1064, 19, 0, 220, 172, 253, 246, 222, 198],
    "mpt": [5449, 11, 268, 26445, 24004, 25, 220, 3039, 220, 1064, 19, 0, 220, 172, 253, 246, 222, 198],
    "bert": [5648, 372, 467, 26644, 24203, 386, 360, 3238, 360, 1263, 380, 361, 360, 344, 263, 256, 232, 114],
    "mistral": [
        6315,
        1039,
        1134,
        27311,
        24870,
        1053,
        1027,
        3905,
        1027,
        1045,
        1043,
        1045,
        1047,
        1028,
        1027,
        1011,
        930,
        923,
        899,
        781,
    ],
    "xlmr": [5548, 272, 367, 26544, 24103, 286, 260, 3138, 260, 1163, 280, 261, 260, 244, 163, 156, 132, 14],
}


# What texts had before there were tokens for more words of theirs still means them.
EARLIER = {
    "gpt": GOLDEN["mpt"],
    "qwen2": [9707, 11, 268, 26447, 24006, 25, 220, 3052, 220, 17, 15, 17, 19, 0, 220, 172, 253, 246, 222, 198],
}


@pytest.mark.parametrize("name", EARLIER)
def test_earlier_ids_decode(name: str) -> None:
    assert tokenizer_for(name).decode(EARLIER[name]) == SAMPLE


@pytest.mark.parametrize("name", EVERY)
def test_encoding_matches_golden_ids(name: str) -> None:
    assert tokenizer_for(name).encode(SAMPLE) == GOLDEN[name]


def test_ids_decode_in_another_process() -> None:
    program = (
        "import sys; from emulator.generation.tokenizer import tokenizer_for;"
        "sys.stdout.buffer.write(tokenizer_for('llama3').decode(map(int, sys.argv[1:])).encode())"
    )
    ids = map(str, tokenizer_for("llama3").encode(SAMPLE))
    result = subprocess.run([sys.executable, "-c", program, *ids], capture_output=True, check=True)
    assert result.stdout.decode() == SAMPLE


def test_english_words_per_token(tokenizer: Tokenizer) -> None:
    assert 0.7 <= len(ENGLISH.split()) / tokenizer.count(ENGLISH) <= 0.8


def test_german_words_per_token(tokenizer: Tokenizer) -> None:
    assert 0.45 <= len(GERMAN.split()) / tokenizer.count(GERMAN) <= 0.75


@pytest.mark.parametrize("name", [name for name in EVERY if PROFILES[name].cjk])
def test_chinese_characters_per_token(name: str) -> None:
    assert 0.8 <= len(CHINESE) / tokenizer_for(name).count(CHINESE) <= 1.5


@pytest.mark.parametrize(("text", "least"), [(CODE, 2.5), (JSON_TEXT, 2.5)], ids=["code", "JSON"])
def test_code_and_json_characters_per_token(tokenizer: Tokenizer, text: str, least: float) -> None:
    assert least <= len(text) / tokenizer.count(text) <= 4.5


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        pytest.param("llama3", "12345", ["123", "45"], id="llama3 takes digits by threes"),
        pytest.param("qwen2", "123", ["1", "2", "3"], id="qwen2 takes digits one by one"),
        pytest.param("qwen2", "it's", ["it", "'s"], id="a contraction is one token"),
        pytest.param("llama2", "it's", ["it", "'", "s"], id="llama2 has no contractions"),
        pytest.param("llama3", " the the", [" the", " the"], id="a space belongs to the word after it"),
        pytest.param("llama3", "a   b", ["a", "  ", " b"], id="more spaces are one token but for the last"),
        pytest.param("llama3", '{"id":1}', ['{"', "id", '":', "1", "}"], id="JSON punctuation runs"),
        pytest.param("llama3", "😀", ["", "", "", "😀"], id="a character comes with its last byte"),
        pytest.param("llama3", "", [], id="no text, no tokens"),
    ],
)
def test_pieces(name: str, text: str, pieces: list[str]) -> None:
    assert tokenizer_for(name).pieces(text) == pieces


def test_incomplete_character_decodes_to_replacement_character() -> None:
    tokenizer = tokenizer_for("llama3")
    assert tokenizer.decode(tokenizer.encode("a😀")[:-1]) == "a\ufffd"


def test_special_tokens_decode_to_empty_text(tokenizer: Tokenizer) -> None:
    specials = [tokenizer.eos] if tokenizer.bos is None else [tokenizer.bos, tokenizer.eos]
    assert tokenizer.decode([*specials, *tokenizer.encode("text"), tokenizer.eos]) == "text"


def test_every_vocabulary_id_decodes(tokenizer: Tokenizer) -> None:
    last = tokenizer.vocabulary_size - 1
    assert isinstance(tokenizer.decode(range(0, last, 97)), str)
    assert tokenizer_for("llama3").decode([60000]) != tokenizer_for("llama3").decode([60001])


@pytest.mark.parametrize("offset", [-1, 0, 1000], ids=["below", "just above", "far above"])
def test_id_outside_vocabulary_is_refused(tokenizer: Tokenizer, offset: int) -> None:
    id = -1 if offset < 0 else tokenizer.vocabulary_size + offset
    with pytest.raises(ValueError, match="outside the vocabulary"):
        tokenizer.decode([id])


def test_unknown_profile_error_lists_profiles() -> None:
    with pytest.raises(ValueError, match=r"'gpt2' is not a tokenizer.*llama3.*qwen2"):
        tokenizer_for("gpt2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 1_000_000, id="one letter"),
        pytest.param("😀" * 50_000, id="one emoji"),
        pytest.param(" " * 1_000_000, id="spaces"),
        pytest.param("\n" * 1_000_000, id="line feeds"),
        pytest.param(ENGLISH * 700, id="prose longer than a slice"),
    ],
)
def test_huge_text_round_trips(text: str) -> None:
    tokenizer = tokenizer_for("llama3")
    ids = tokenizer.encode(text)
    assert tokenizer.count(text) == len(ids)
    assert tokenizer.decode(ids) == text


WORDS_AND_BLANKS = ["a", "Foo", "x1", "7", "2048", "'s", "!", "日", "_", "\u00a0", "\t", "\r\n", "\n", "  ", *" " * 4]
BLANKS = st.lists(st.sampled_from(WORDS_AND_BLANKS))


@given(parts=BLANKS, name=st.sampled_from(EVERY))
def test_count_matches_encode_with_blanks(parts: list[str], name: str) -> None:
    tokenizer, text = tokenizer_for(name), "".join(parts)
    assert tokenizer.count(text) == len(tokenizer.encode(text))


@pytest.mark.slow
def test_encoding_is_stable_after_cache_eviction() -> None:
    tokenizer = tokenizer_for("mpt")
    before = tokenizer.encode(PROMPT)
    tokenizer.count(" ".join(f"w{chr(0x4E00 + n % 20000)}{n}q" for n in range(60_000)))
    assert tokenizer.encode(PROMPT) == before
