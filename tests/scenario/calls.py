"""Calls as rules see them."""

from emulator.core.requests import ChatAsk, CompletionAsk, EmbeddingAsk, Message, Sampling, Tool
from emulator.scenario.load import load_text
from emulator.scenario.matching import Facts, Matcher, compile_rules
from tests.parsed import JSON

BODY: JSON = {
    "model": "llama",
    "temperature": 1.0,
    "stream": True,
    "user": None,
    "messages": [{"role": "user", "content": "How is the weather?"}, {"role": "user", "content": [{"type": "text"}]}],
}
CHAT = Facts(
    vendor="databricks",
    deployment="llama-70b",
    task="chat",
    endpoint="/serving-endpoints/llama-70b/invocations",
    principal="search",
    session="s1",
    stream=True,
    ask=ChatAsk(
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
    identity=b"chat",
)
PLAIN = Facts(vendor="tgi", task="chat", ask=ChatAsk(messages=(Message(role="assistant", text="Hi"),)))
COMPLETION = Facts(
    vendor="tgi", task="completions", ask=CompletionAsk(prompts=("Once upon", (1, 2), "a time"), media=0)
)
GRAMMAR = Facts(vendor="tgi", ask=CompletionAsk(prompts=("Once",), schema={"type": "object"}))
PATTERN = Facts(vendor="tgi", ask=CompletionAsk(prompts=("Once",), schema={"type": "string"}, bare=True))
EMBEDDING = Facts(vendor="azure", task="embeddings", ask=EmbeddingAsk(inputs=("first", "second")), prompt_tokens=2)
TOKENS = Facts(vendor="azure", task="embeddings", ask=EmbeddingAsk(inputs=((1, 2),)))
MODELS = Facts(vendor="azure", endpoint="/info")


def rules(text: str, seed: int = 0) -> Matcher:
    return compile_rules(load_text(f"version: 1\nseed: {seed}\nrules:\n{text}").scenario)
