"""How long a prompt and an answer may be, and what an answer's end is called."""

import json

import pytest

from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.mindie.direct import PROMPT, accepted, refused

LONG = "word " * 600
TIGHT = "vendors: {mindie: {max_seq_len: 12, max_input_token_len: 8, max_iter_times: 6}}\n"
POSITIONS = "vendors: {mindie: {max_seq_len: 100, max_input_token_len: 90, max_position_embeddings: 4}}\n"
SIX = "a b c d e f"  # six tokens


def ask(text: str, **parameters: JSON) -> JSON:
    return {"inputs": text, "parameters": parameters}


@pytest.mark.parametrize(
    ("section", "text", "parameters", "limit"),
    [
        pytest.param("", PROMPT, {}, 20, id="twenty by default"),
        pytest.param("", PROMPT, {"max_new_tokens": 7}, 7, id="as asked"),
        pytest.param("", PROMPT, {"max_new_tokens": 100000}, 512, id="maxIterTimes bounds what is asked"),
        pytest.param(TIGHT, SIX, {"max_new_tokens": 100}, 6, id="a smaller maxIterTimes"),
        pytest.param(TIGHT, SIX + " g h", {"max_new_tokens": 100}, 4, id="what maxSeqLen leaves"),
        pytest.param(POSITIONS, "a b c", {"max_new_tokens": 50}, 1, id="what the weights' positions leave"),
        pytest.param(
            "vendors: {mindie: {pd_mode: true, max_iter_times: 6}}\n",
            SIX,
            {"max_new_tokens": 100},
            7,
            id="one more where the prefill's token is counted too",
        ),
        pytest.param(
            "vendors: {mindie: {pd_mode: true, max_iter_times: 6}}\n",
            SIX,
            {"max_new_tokens": 5},
            5,
            id="but not if less is asked",
        ),
        pytest.param(
            "deployments: [{vendor: mindie, name: own, tokenizer: qwen2, default_max_tokens: 3}]\n",
            SIX,
            {},
            3,
            id="a deployment's own default",
        ),
    ],
)
def test_limit(section: str, text: str, parameters: JSON, limit: int) -> None:
    assert accepted("mindie", "/", ask(text, **parameters), section).context.limit == limit


@pytest.mark.parametrize(
    ("section", "text", "bound", "count"),
    [
        pytest.param(TIGHT, "a b c d e f g h i", "8", 9, id="more than maxInputTokenLen"),
        pytest.param(
            "vendors: {mindie: {max_seq_len: 6, max_input_token_len: 100}}\n", SIX, "5", 6, id="as many as maxSeqLen"
        ),
        pytest.param(POSITIONS, "a b c d e", "maxPositionEmbeddings 4", 5, id="more than the weights' positions"),
    ],
)
def test_prompt_too_long(section: str, text: str, bound: str, count: int) -> None:
    answer = refused("mindie", "/", ask(text), section)
    assert answer.status == 424
    assert json.loads(answer.body) == {
        "error": "Failed to enqueue inferRequest. This model's maximum input ids length cannot be greater than "
        f"{bound},the input ids length is {count}",
        "error_type": "Generation Error",
    }


def test_parameters_are_checked_before_the_engine_is_asked() -> None:
    assert refused("mindie", "/", ask("a b c d e f g h i", temperature=0), TIGHT).status == 422


def test_longest_prompt_is_taken() -> None:
    assert accepted("mindie", "/", ask("a b c d e f g h"), TIGHT).prompt_tokens == (8,)


@pytest.mark.parametrize(
    ("truncation", "prompt"),
    [
        pytest.param(-1, "a b c d e f g h", id="on the right"),
        pytest.param(True, "a b c d e f g h", id="as true, on the right"),
        pytest.param(1, " b c d e f g h i", id="on the left"),
    ],
)
def test_truncation_of_the_server(truncation: JSON, prompt: str) -> None:
    section = TIGHT.replace("max_iter_times: 6", f"max_iter_times: 6, truncation: {json.dumps(truncation)}")
    call = accepted("mindie", "/", ask("a b c d e f g h i", decoder_input_details=True), section)
    assert (call.ask.prompt, call.prompt_tokens) == (prompt, (8,))
    assert len(call.context.prefill) == 8


@pytest.mark.parametrize(
    ("truncate", "prompt", "count"),
    [
        pytest.param(2, " e f", 2, id="keeps the last tokens"),
        pytest.param(6, SIX, 6, id="has no effect at the very count"),
        pytest.param(100, SIX, 6, id="nor above it"),
    ],
)
def test_truncate(truncate: int, prompt: str, count: int) -> None:
    call = accepted("mindie", "/", ask(SIX, truncate=truncate, decoder_input_details=True))
    assert call.ask.prompt == prompt
    assert call.prompt_tokens == (count,)
    assert len(call.context.prefill) == count


def test_truncate_lets_a_long_prompt_pass() -> None:
    accepted("mindie", "/", ask("a b c d e f g h i", truncate=8), TIGHT)


def test_truncate_with_a_begin_of_sequence_token() -> None:
    section = "deployments: [{vendor: mindie, name: own, tokenizer: llama2}]\n"
    whole = accepted("mindie", "/", ask(PROMPT, decoder_input_details=True), section)
    cut = accepted("mindie", "/", ask(PROMPT, decoder_input_details=True, truncate=2), section)
    assert whole.context.prefill[0] == 1
    assert cut.context.prefill == whole.context.prefill[-2:]


REPLY = "rules: [{name: fixed, reply: {text: ' one two three'}}]\n"


@pytest.mark.parametrize(
    ("parameters", "reason", "count", "text"),
    [
        pytest.param({}, "eos_token", 4, " one two three", id="its end is a token too"),
        pytest.param({"max_new_tokens": 2}, "length", 2, " one two", id="cut at the limit"),
        pytest.param({"max_new_tokens": 3}, "length", 3, " one two three", id="no room for its end"),
        pytest.param({"max_new_tokens": 4}, "length", 4, " one two three", id="an end on the last token is hidden"),
        pytest.param({"stop": " three"}, "stop_sequence", 3, " one two", id="a stop string is taken out"),
        pytest.param({"stop": ["zzz", "wo"]}, "stop_sequence", 2, " one t", id="inside a token"),
        pytest.param(
            {"stop": " two", "max_new_tokens": 2}, "length", 2, " one", id="a stop on the last token is hidden"
        ),
        pytest.param({"stop": "zzz"}, "eos_token", 4, " one two three", id="a stop that never comes"),
        pytest.param({"stop": [" two three", " two"]}, "stop_sequence", 2, " one", id="the stop that comes first"),
    ],
)
async def test_end(start: Start, parameters: JSON, reason: str, count: int, text: str) -> None:
    running = await start(REPLY)
    body = ask(PROMPT, details=True, **parameters)
    answer = (await running.ask("mindie", "/", body)).json()[0]
    assert answer["generated_text"] == text
    assert answer["details"]["finish_reason"] == reason
    assert answer["details"]["generated_tokens"] == len(answer["details"]["tokens"]) == count
    last = (await running.ask("mindie", "/", {**body, "stream": True})).events()[-1]
    assert (last["generated_text"], last["details"]["finish_reason"]) == (text, reason)


async def test_invalid_marker_is_sent_only_on_request(start: Start) -> None:
    rule = "rules: [{name: fixed, reply: {text: x, finish_reason: content_filter}}]\n"
    for section, marker in (
        ("", "invalid flag"),
        ("vendors: {mindie: {invalid_finish_reason: invalid finishReason}}\n", "invalid finishReason"),
    ):
        running = await start(section + rule)
        answer = await running.ask("mindie", "/", ask(PROMPT, details=True))
        assert answer.json()[0]["details"]["finish_reason"] == marker


async def test_ignored_beyond_the_limit_of_the_server(start: Start) -> None:
    running = await start()
    answer = (await running.ask("mindie", "/", ask(LONG, details=True, max_new_tokens=100000))).json()[0]
    assert answer["details"]["generated_tokens"] <= 512
