"""Helpers that build request attributes."""

from emulator.core.requests import ChatRequest, CompletionRequest, EmbeddingRequest, Message, Sampling, Tool
from emulator.scenario.load import load_text
from emulator.scenario.matching import RequestAttributes, RuleMatcher, compile_rules
from tests.untyped_json import JSON

BODY: JSON = {
    "model": "llama",
    "temperature": 1.0,
    "stream": True,
    "user": None,
    "messages": [{"role": "user", "content": "How is the weather?"}, {"role": "user", "content": [{"type": "text"}]}],
}
CHAT = RequestAttributes(
    vendor="databricks",
    deployment="llama-70b",
    task="chat",
    endpoint="/serving-endpoints/llama-70b/invocations",
    principal="search",
    session="s1",
    stream=True,
    request=ChatRequest(
        messages=(
            Message(role="system", text="You are terse."),
            Message(role="user", text="Hello", media=1),
            Message(role="assistant", text="Hi"),
            Message(role="tool", text="22 degrees"),
            Message(role="user", text="How is the weather?"),
        ),
        sampling=Sampling(max_tokens=100),
        tools=(Tool(name="get_weather"), Tool(name="get_time")),
        format="json_schema",
    ),
    prompt_tokens=42,
    body_bytes=1000,
    headers={"x-team": "search", "user-agent": "OpenAI/Python"},
    query={"api-version": "2024-05-01"},
    body=lambda: BODY,
    fingerprint=b"chat",
)
PLAIN = RequestAttributes(
    vendor="tgi", task="chat", request=ChatRequest(messages=(Message(role="assistant", text="Hi"),))
)
COMPLETION = RequestAttributes(
    vendor="tgi", task="completions", request=CompletionRequest(prompts=("Once upon", (1, 2), "a time"), media=0)
)
GRAMMAR = RequestAttributes(vendor="tgi", request=CompletionRequest(prompts=("Once",), schema={"type": "object"}))
PATTERN = RequestAttributes(
    vendor="tgi", request=CompletionRequest(prompts=("Once",), schema={"type": "string"}, bare=True)
)
EMBEDDING = RequestAttributes(
    vendor="azure", task="embeddings", request=EmbeddingRequest(inputs=("first", "second")), prompt_tokens=2
)
TOKENS = RequestAttributes(vendor="azure", task="embeddings", request=EmbeddingRequest(inputs=((1, 2),)))
MODELS = RequestAttributes(vendor="azure", endpoint="/info")


def rules(text: str, seed: int = 0) -> RuleMatcher:
    return compile_rules(load_text(f"version: 1\nseed: {seed}\nrules:\n{text}").scenario)
