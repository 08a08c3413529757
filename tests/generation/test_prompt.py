"""How many tokens a model reads."""

import pytest

from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    EmbeddingRequest,
    InferenceRequest,
    Message,
    Tool,
    ToolCall,
)
from emulator.generation.prompt import MEDIA_TOKENS, count_chat, count_prompt
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES

LLAMA = PROFILES["llama3"]
TOKENIZER = tokenizer_for("llama3")
HELLO = TOKENIZER.count("Hello there")
TURN = LLAMA.template_per_message + HELLO


def count(ask: InferenceRequest, profile: str = "llama3") -> tuple[int, ...]:
    return count_prompt(ask, tokenizer_for(profile))


def chat(*messages: Message, tools: tuple[Tool, ...] = ()) -> ChatRequest:
    return ChatRequest(messages=messages, tools=tools)


USER = Message(role="user", text="Hello there")


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        pytest.param(chat(USER), LLAMA.template_base + TURN, id="one turn and the template"),
        pytest.param(chat(USER, USER, USER), LLAMA.template_base + 3 * TURN, id="every turn"),
        pytest.param(
            chat(Message(role="user", text="Hello there", media=2)),
            LLAMA.template_base + TURN + 2 * MEDIA_TOKENS,
            id="media",
        ),
        pytest.param(chat(), LLAMA.template_base, id="no turn at all"),
        pytest.param(CompletionRequest(prompts=("Hello there",)), LLAMA.per_text + HELLO, id="a raw prompt"),
        pytest.param(
            CompletionRequest(prompts=("Hello there",), raw=False),
            LLAMA.template_base + TURN,
            id="a prompt in a template",
        ),
        pytest.param(CompletionRequest(prompts=((1, 2, 3),)), LLAMA.per_text + 3, id="token ids"),
        pytest.param(EmbeddingRequest(inputs=("Hello there",)), LLAMA.per_text + HELLO, id="an input"),
        pytest.param(
            EmbeddingRequest(inputs=("Hello there",), instruction="Hello there"),
            LLAMA.per_text + 2 * HELLO,
            id="an input behind an instruction",
        ),
    ],
)
def test_prompt_token_count(ask: InferenceRequest, expected: int) -> None:
    assert count(ask) == (expected,)


def test_each_prompt_is_counted_separately() -> None:
    assert count(CompletionRequest(prompts=("Hello there", (1, 2)))) == (LLAMA.per_text + HELLO, LLAMA.per_text + 2)


def test_tool_calls_and_tools_add_tokens() -> None:
    plain = count(chat(USER))[0]
    called = Message(role="assistant", tool_calls=(ToolCall("c", "get_weather", '{"city": "Paris"}'),))
    assert count(chat(called, USER))[0] > plain + LLAMA.template_per_message
    assert count(chat(USER, tools=(Tool(name="get_weather", description="Weather of a city"),)))[0] > plain


def test_repeated_count_is_equal() -> None:
    ask = chat(USER, Message(role="assistant", text="x" * 20_000), USER)
    assert count(ask) == count(ask)


def test_bert_adds_special_tokens_to_each_text() -> None:
    assert count(EmbeddingRequest(inputs=("a", "b")), "bert") == (3, 3)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_last_text_of_a_user_is_weighed_as_it_is_counted(profile: str) -> None:
    tokenizer = tokenizer_for(profile)
    said = (Message("system", "Be  brief."), Message("user", "Was ist das?"), Message("user", "what's this, 12 345?"))
    for count, language in ((1, ""), (2, "de_DE"), (3, "en_US")):
        tokens, locale = count_chat(said[:count], (), tokenizer)
        template = tokenizer.profile
        texts = sum(tokenizer.count(message.text) for message in said[:count])
        assert tokens == texts + template.template_base + template.template_per_message * count
        assert locale == language


def test_a_conversation_with_more_than_text_has_no_locale() -> None:
    tokenizer = tokenizer_for("llama3")
    seen = Message("user", "Was ist das?", media=1)
    reported = Message("tool", "Was ist das?", tool_call_id="c")
    for messages in ((), (seen,), (seen, USER), (reported,), (reported, USER)):
        assert count_chat(messages, (), tokenizer)[1] == ""
