"""What a scenario's conditions see of an ask."""

import pytest

from emulator.core.requests import ChatRequest, CompletionRequest, EmbeddingRequest, InferenceRequest, Message

TALK = ChatRequest(
    messages=(
        Message(role="developer", text="be brief"),
        Message(role="user", text="first"),
        Message(role="tool", text="21 degrees", tool_call_id="c1"),
        Message(role="user", text="second"),
        Message(role="tool", text="22 degrees", tool_call_id="c2"),
        Message(role="system", text="too late"),
        Message(role="assistant", text="third"),
    )
)


@pytest.mark.parametrize(
    ("ask", "prompt"),
    [
        pytest.param(TALK, "second", id="the last user message"),
        pytest.param(ChatRequest(messages=(Message(role="system", text="s"),)), None, id="no user message"),
        pytest.param(CompletionRequest(prompts=("one", "two", (1, 2))), "two", id="the last prompt that is a text"),
        pytest.param(CompletionRequest(prompts=((1, 2),)), None, id="token ids only"),
        pytest.param(EmbeddingRequest(inputs=("one", (3,))), "one", id="the last input that is a text"),
        pytest.param(EmbeddingRequest(inputs=()), None, id="no input"),
    ],
)
def test_prompt(ask: InferenceRequest, prompt: str | None) -> None:
    assert ask.prompt == prompt


def test_system_is_first_and_tool_result_last() -> None:
    assert (TALK.system, TALK.tool_result) == ("be brief", "22 degrees")


def test_system_and_tool_result_are_absent_from_plain_chat() -> None:
    ask = ChatRequest(messages=(Message(role="user", text="hi"),))
    assert (ask.system, ask.tool_result) == (None, None)


@pytest.mark.parametrize(
    ("ask", "task"),
    [
        pytest.param(TALK, "chat", id="chat"),
        pytest.param(CompletionRequest(prompts=("p",)), "completions", id="completions"),
        pytest.param(EmbeddingRequest(inputs=("i",)), "embeddings", id="embeddings"),
    ],
)
def test_request_has_task(ask: InferenceRequest, task: str) -> None:
    assert ask.task == task
