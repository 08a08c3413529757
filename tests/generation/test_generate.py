"""Generated content of requests: text, length and finish reason."""

from dataclasses import replace

import jsonschema_rs
import pytest

from emulator.core.cache import clear_all
from emulator.core.geometry import Geometry
from emulator.core.json import Object, as_object, dump_string
from emulator.core.plan import Choice
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    Message,
    Sampling,
    Tool,
    ToolCall,
)
from emulator.generation.generate import Content, generate
from emulator.generation.segments import FixedReply
from emulator.generation.tokenizer import tokenizer_for
from tests.untyped_json import parse_json

TOKENIZER = tokenizer_for("llama3")
DEPLOYMENT = Deployment(vendor="databricks", name="llama")
WEATHER = Tool(
    name="get_weather",
    description="Current weather in a city",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def chat(text: str = "Tell me about boats.") -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", text=text),))


def talk(before: Message) -> ChatRequest:
    return ChatRequest((before, *chat().messages))


PARIS = replace(chat("What is the weather in Paris?"), tools=(WEATHER,))


def draft(
    ask: ChatRequest | CompletionRequest | EmbeddingRequest, reply: FixedReply | None = None, seed: int = 0
) -> Content:
    return generate(ask, DEPLOYMENT, TOKENIZER, seed=seed, prompt_tokens=(5,), reply=reply)


def first(ask: ChatRequest | CompletionRequest, reply: FixedReply | None = None, seed: int = 0) -> Choice:
    return draft(ask, reply, seed).choices[0]


def text(ask: ChatRequest, seed: int = 0) -> str:
    return first(ask, seed=seed).text()


def sampled(sampling: Sampling) -> ChatRequest:
    return replace(chat(), sampling=sampling)


@pytest.mark.parametrize("limit", [0, 1, 2, 17, 64])
def test_max_tokens_is_exact(limit: int) -> None:
    choice = first(sampled(Sampling(max_tokens=limit)))
    assert len(choice.tokens) == len(choice.ids) == limit
    assert choice.finish_reason == "length"


def test_unlimited_text_ends_with_sentence() -> None:
    choice = first(chat())
    assert choice.finish_reason == "stop"
    assert choice.text()[-1] in ".!?"


def test_ignore_eos_runs_to_limit() -> None:
    choice = first(sampled(Sampling(max_tokens=3000, ignore_eos=True)))
    assert (len(choice.tokens), choice.finish_reason) == (3000, "length")


def test_stop_string_ends_text_before_it() -> None:
    whole = text(chat())
    word = whole.split()[5]
    choice = first(sampled(Sampling(stop=(word,))))
    assert choice.text() == whole.split(word)[0]
    assert (choice.finish_reason, choice.stopped_by) == ("stop", word)


def test_keep_stop_includes_stop_string() -> None:
    word = text(chat()).split()[5]
    assert first(sampled(Sampling(stop=(word,), keep_stop=True))).text().endswith(word)


def test_stop_string_beyond_limit_is_ignored() -> None:
    whole = first(chat())
    last = whole.text().split()[-1]
    choice = first(sampled(Sampling(stop=(last,), max_tokens=4)))
    assert (len(choice.tokens), choice.finish_reason, choice.stopped_by) == (4, "length", None)


def test_show_eos_appends_counted_token() -> None:
    plain, shown = first(chat()), first(sampled(Sampling(show_eos=True)))
    assert shown.ids == (*plain.ids, TOKENIZER.eos)
    assert shown.tokens[-1] == ""
    assert shown.segments[-1].end == len(shown.tokens)


@pytest.mark.parametrize(
    "sampling",
    [
        pytest.param(Sampling(), id="its own end"),
        pytest.param(Sampling(max_tokens=300, ignore_eos=True), id="a limit"),
        pytest.param(Sampling(show_eos=True), id="a token for its end"),
        pytest.param(Sampling(max_tokens=2000, ignore_eos=True), id="one that is not cached"),
        pytest.param(Sampling(max_tokens=60), id="a short one"),
    ],
)
def test_repeated_text_equals_first_one(sampling: Sampling) -> None:
    """Whether it is new, seen once, or cached with what was made of it; other limits do not mix."""
    clear_all()
    alone = [first(sampled(sampling)) for _ in range(3)]
    for other in (Sampling(), Sampling(show_eos=True), Sampling(max_tokens=200), replace(sampling, max_tokens=150)):
        first(sampled(other))
        first(sampled(other))
    for choice in (*alone, first(sampled(sampling))):
        assert (choice.tokens, choice.ids, choice.finish_reason) == (
            alone[0].tokens,
            alone[0].ids,
            alone[0].finish_reason,
        )
        assert [*choice.sequence.quoted] == [*map(dump_string, choice.tokens)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(sampled(Sampling(seed=1)), sampled(Sampling(seed=1)), True, id="one seed pins the text"),
        pytest.param(sampled(Sampling(seed=1)), sampled(Sampling(seed=2)), False, id="another seed varies it"),
        pytest.param(
            sampled(Sampling(greedy=True, seed=1)),
            sampled(Sampling(greedy=True, seed=2)),
            True,
            id="greedy never varies with the seed",
        ),
        pytest.param(
            sampled(Sampling(parameters=(("temperature", 0.5),))),
            sampled(Sampling(parameters=(("temperature", 0.9),))),
            False,
            id="a parameter varies it",
        ),
        pytest.param(chat("One?"), chat("Two?"), False, id="another prompt varies it"),
        pytest.param(talk(Message("user", "a")), talk(Message("system", "a")), False, id="a role varies it"),
        pytest.param(talk(Message("user", "a")), talk(Message("user", "a", media=1)), False, id="a picture varies it"),
        pytest.param(
            talk(Message("tool", "a", tool_call_id="1")),
            talk(Message("tool", "a", tool_call_id="2")),
            False,
            id="the call that a result is of varies it",
        ),
        pytest.param(
            talk(Message("assistant", "", (ToolCall("1", "find", "{}"),))),
            talk(Message("assistant", "", (ToolCall("1", "look", "{}"),))),
            False,
            id="a call that was made varies it",
        ),
        pytest.param(chat(), replace(chat(), language="en_US"), True, id="a given language changes nothing"),
        pytest.param(
            chat(), sampled(Sampling(max_tokens=10_000)), True, id="a limit that is not reached changes nothing"
        ),
    ],
)
def test_text_depends_on_prompt_and_sampling(one: ChatRequest, other: ChatRequest, same: bool) -> None:
    assert (text(one) == text(other)) is same


def test_emulator_seed_varies_text() -> None:
    assert text(chat(), seed=0) != text(chat(), seed=1)


def test_smaller_limit_gives_prefix_of_same_text() -> None:
    assert text(sampled(Sampling(max_tokens=40))).startswith(text(sampled(Sampling(max_tokens=20))))


def test_several_choices_differ_unless_greedy() -> None:
    varied = [choice.text() for choice in draft(sampled(Sampling(n=3))).choices]
    greedy = [choice.text() for choice in draft(sampled(Sampling(n=3, greedy=True))).choices]
    assert (len(set(varied)), len(set(greedy))) == (3, 1)


def test_usage_counts_every_choice_and_prompt_once() -> None:
    usage = draft(sampled(Sampling(n=3, max_tokens=7))).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (5, 21, 26)


@pytest.mark.parametrize(
    ("prompt", "letters"),
    [
        pytest.param("Was ist der Unterschied zwischen einem Boot und einem Schiff?", "äöüß", id="German"),
        pytest.param("请介绍一下船和小船的区别", "的是了在", id="Chinese"),
    ],
)
def test_text_is_in_prompt_language(prompt: str, letters: str) -> None:
    assert any(letter in text(chat(prompt)) for letter in letters)


def test_required_tool_is_called_with_valid_arguments() -> None:
    choice = first(replace(PARIS, tool_choice="required"))
    [(name, arguments)] = choice.tool_calls
    assert (name, choice.finish_reason) == ("get_weather", "tool_calls")
    jsonschema_rs.validate(as_object(WEATHER.parameters), parse_json(arguments))


def test_tool_choice_none_calls_no_tool() -> None:
    choice = first(replace(PARIS, tool_choice="none"))
    assert choice.tool_calls == ()
    assert choice.text()


def test_max_tokens_cuts_tool_arguments() -> None:
    ask = replace(PARIS, tool_choice="required", sampling=Sampling(max_tokens=2))
    choice = first(ask)
    assert (len(choice.tokens), choice.finish_reason) == (2, "length")


def test_text_after_tool_call_uses_result() -> None:
    turns = (
        Message(role="user", text="What is the weather in Paris?"),
        Message(role="assistant", tool_calls=(ToolCall("call_1", "get_weather", '{"city": "Paris"}'),)),
        Message(role="tool", text="21 degrees and sunny", tool_call_id="call_1"),
    )
    choice = first(ChatRequest(messages=turns, tools=(WEATHER,), tool_choice="auto"))
    assert choice.tool_calls == ()
    assert "21 degrees and sunny" in choice.text()


def test_json_mode_gives_object() -> None:
    assert isinstance(parse_json(text(replace(chat(), format="json_object"))), dict)


def test_schema_gives_valid_instance() -> None:
    schema: Object = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    jsonschema_rs.validate(schema, parse_json(text(replace(chat(), format="json_schema", schema=schema))))


def test_reasoning_comes_first_and_is_counted() -> None:
    result = draft(replace(chat(), reasoning="low"))
    [choice] = result.choices
    assert [span.kind for span in choice.segments] == ["reasoning", "text"]
    assert result.usage.reasoning_tokens == choice.segments[0].end > 0
    assert len(first(replace(chat(), reasoning="high")).text("reasoning")) > len(choice.text("reasoning"))


def test_logprobs_cover_every_token() -> None:
    choice = first(sampled(Sampling(max_tokens=20, logprobs=3)))
    assert choice.logprobs is not None
    assert [entry.token for entry in choice.logprobs] == list(choice.tokens)
    assert all(entry.logprob <= 0 and len(entry.top) == 3 for entry in choice.logprobs)


def test_prompt_details_list_prompt_tokens() -> None:
    ask = CompletionRequest(prompts=("Once upon a time",), sampling=Sampling(max_tokens=3, prompt_details=True))
    [prompt] = draft(ask).prompts
    assert TOKENIZER.decode(prompt.ids) == "".join(prompt.tokens) == "Once upon a time"


def test_batch_answers_every_prompt() -> None:
    choices = draft(CompletionRequest(prompts=("One", "Two"), sampling=Sampling(max_tokens=5, n=2))).choices
    assert [choice.prompt for choice in choices] == [0, 0, 1, 1]


def test_token_id_prompt_equals_text_prompt() -> None:
    ids = tuple(TOKENIZER.encode("Once upon a time"))
    assert (
        first(CompletionRequest(prompts=(ids,))).text()
        == first(CompletionRequest(prompts=("Once upon a time",))).text()
    )


def test_vectors_do_not_depend_on_batch() -> None:
    both = draft(EmbeddingRequest(inputs=("one", "two"))).vectors
    swapped = draft(EmbeddingRequest(inputs=("two", "one"))).vectors
    assert both is not None
    assert swapped is not None
    assert both.shape == (2, 1024)
    assert (both == swapped[::-1]).all()


def test_instruction_changes_vector() -> None:
    plain = draft(EmbeddingRequest(inputs=("one",))).vectors
    instructed = draft(EmbeddingRequest(inputs=("one",), instruction="Find this:")).vectors
    assert plain is not None
    assert instructed is not None
    assert not (plain == instructed).all()


@pytest.mark.parametrize(
    ("reply", "texts", "finish"),
    [
        pytest.param(FixedReply(text="Hello."), {"text": "Hello."}, "stop", id="a text"),
        pytest.param(FixedReply(pieces=("He", "llo")), {"text": "Hello"}, "stop", id="chunks"),
        pytest.param(FixedReply(text="A", pieces=("B",)), {"text": "AB"}, "stop", id="a text and chunks"),
        pytest.param(FixedReply(refusal="No."), {"refusal": "No.", "text": ""}, "stop", id="a refusal"),
        pytest.param(
            FixedReply(reasoning="Hm.", text="Yes."), {"reasoning": "Hm.", "text": "Yes."}, "stop", id="reasoning"
        ),
        pytest.param(FixedReply(tool_calls=(("f", "{}", "call_9"),)), {"tool_call": "{}"}, "tool_calls", id="a call"),
        pytest.param(
            FixedReply(text="A", finish_reason="content_filter"), {"text": "A"}, "content_filter", id="reason"
        ),
    ],
)
def test_fixed_reply_is_returned_verbatim(reply: FixedReply, texts: dict[str, str], finish: str) -> None:
    choice = first(chat(), reply)
    assert {kind: choice.text(kind) for kind in texts} == texts
    assert choice.finish_reason == finish


def test_fixed_reply_respects_limit_and_stop() -> None:
    reply = FixedReply(text="One two three four five six seven eight.")
    assert first(sampled(Sampling(max_tokens=3)), reply).finish_reason == "length"
    assert first(sampled(Sampling(stop=("three",))), reply).text() == "One two "


def test_fixed_usage_is_reported() -> None:
    result = draft(chat(), FixedReply(text="A", usage={"completion_tokens": 99}))
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (5, 99)


def test_fixed_embedding_applies_to_every_input() -> None:
    vectors = draft(EmbeddingRequest(inputs=("one", "two")), FixedReply(embedding=(0.5, 0.25))).vectors
    assert vectors is not None
    assert vectors.tolist() == [[0.5, 0.25], [0.5, 0.25]]


def test_empty_request_is_answered() -> None:
    assert first(replace(chat(""), messages=())).text()


def test_parallel_calls_of_one_tool_take_different_values() -> None:
    asked = chat("What is the weather in Paris and in Rome?")
    ask = replace(asked, tools=(WEATHER,), tool_choice="auto", parallel=True)
    calls = first(ask).tool_calls
    assert [name for name, _ in calls] == ["get_weather"] * len(calls)
    assert len({arguments for _, arguments in calls}) == len(calls)


def test_reply_replaces_vectors_by_words() -> None:
    """Cached vectors stay as they are."""
    deployment = replace(
        DEPLOYMENT, task="embeddings", dimensions=64, normalized=True, geometry=Geometry(kind="lexical")
    )
    reply = FixedReply(embeddings=((lambda text: text == "b", (0.5,) * 64),))
    texts = EmbeddingRequest(inputs=("a", "b"))
    tokenizer = tokenizer_for("bert")
    rows = []
    for which in (None, reply, None):
        vectors = generate(texts, deployment, tokenizer, 0, (1, 1), which).vectors
        assert vectors is not None
        rows.append(vectors.tolist())
    plain, fixed, again = rows
    assert plain == again
    assert fixed == [plain[0], [0.5] * 64]
    assert plain[1] != fixed[1]
