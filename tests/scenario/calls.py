"""Helpers that build request attributes."""

from dataclasses import replace
from typing import Any

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.json import dump_json
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    InferenceRequest,
    Message,
    Sampling,
    Task,
    Tool,
)
from emulator.scenario.load import load_text
from emulator.scenario.matching import Count, Match, RequestAttributes, RuleMatcher, compile_rules
from tests.untyped_json import JSON

_OWN = ("vendor", "body_bytes", "fingerprint", "attempt", "now", "started")
_OF_REQUEST = ("path", "principal", "session", "headers", "query", "body")
NO_CODEC: Any = None  # nothing is rendered


def build(
    vendor: str, asked: InferenceRequest | None = None, *, deployment: str = "", task: Task = "chat"
) -> RequestAttributes:
    """Build the attributes of a request; without ``asked`` of one that makes no call."""
    model = Deployment(vendor=vendor, name=deployment, task=task)
    call = None if asked is None else InferenceCall(model, asked, NO_CODEC)
    return RequestAttributes(vendor, Request("POST", "/"), call, 0, b"", 0, 0.0, 0.0)


def vary(attributes: RequestAttributes, **changes: Any) -> RequestAttributes:
    """Return attributes with other values of their fields, of the HTTP request's or of the call's."""
    if "since_start" in changes:
        changes["started"] = attributes.now - changes.pop("since_start")
    request, call = attributes.request, attributes.call
    if "deployment" in changes and call is not None:
        changes["deployment"] = replace(call.deployment, name=changes["deployment"])
    own = {name: value for name, value in changes.items() if name in _OWN}
    of_request = {name: value for name, value in changes.items() if name in _OF_REQUEST}
    of_call = {name: value for name, value in changes.items() if name not in _OWN and name not in _OF_REQUEST}
    return replace(
        attributes,
        request=replace(request, **of_request),
        call=None if call is None else replace(call, **of_call),
        **own,
    )


BODY: JSON = {
    "model": "llama",
    "temperature": 1.0,
    "stream": True,
    "user": None,
    "messages": [{"role": "user", "content": "How is the weather?"}, {"role": "user", "content": [{"type": "text"}]}],
}
CHAT = vary(
    build(
        "databricks",
        ChatRequest(
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
        deployment="llama-70b",
    ),
    path="/serving-endpoints/llama-70b/invocations",
    principal="search",
    session="s1",
    stream=True,
    prompt_tokens=(42,),
    body_bytes=1000,
    headers={"x-team": "search", "user-agent": "OpenAI/Python"},
    query={"api-version": "2024-05-01"},
    body=dump_json(BODY),
    fingerprint=b"chat",
)
PLAIN = build("tgi", ChatRequest(messages=(Message(role="assistant", text="Hi"),)))
COMPLETION = build("tgi", CompletionRequest(prompts=("Once upon", (1, 2), "a time"), media=0), task="completions")
GRAMMAR = build("tgi", CompletionRequest(prompts=("Once",), schema={"type": "object"}), task="completions")
PATTERN = build("tgi", CompletionRequest(prompts=("Once",), schema={"type": "string"}, bare=True), task="completions")
EMBEDDING = vary(build("azure", EmbeddingRequest(inputs=("first", "second")), task="embeddings"), prompt_tokens=(2,))
TOKENS = build("azure", EmbeddingRequest(inputs=((1, 2),)), task="embeddings")
MODELS = vary(build("azure"), path="/info")


def rules(text: str, seed: int = 0) -> RuleMatcher:
    return compile_rules(load_text(f"version: 1\nseed: {seed}\nrules:\n{text}").scenario)


async def find_match(matcher: RuleMatcher, attributes: RequestAttributes, count: Count) -> Match:
    found = matcher.match(attributes, count)
    return found if isinstance(found, Match) else await found
