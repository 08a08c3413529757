"""What is read at little cost is read as the vendor's own checks read it, and what they refuse is left to them."""

import json
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest
from emulator.core.vendor import AnyService, FastParser, InferenceCall
from emulator.generation.generate import generate
from emulator.generation.language import detect_language
from emulator.generation.tokenizer import tokenizer_for
from emulator.http.routing import Router
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service, read_settings
from emulator.scenario.models import Scenario
from emulator.vendors import VENDORS

LLAMA, CLAUDE, GPT = ("databricks-meta-llama-3-3-70b-instruct", "databricks-claude-sonnet-4-5", "databricks-gpt-5")
_KINDS: list[Object] = [{"name": "small", "context": 60, "max_output": 10}, {"name": "usual", "default_max_tokens": 7}]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Vendor settings with extra deployments, and the path and models of the requests."""

    vendor: str
    path: str
    models: tuple[str, ...]
    settings: Object = field(default_factory=dict, hash=False)
    deployments: tuple[Object, ...] = field(default=(), hash=False)
    query: dict[str, str] = field(default_factory=dict, hash=False)


def _databricks(**switches: JSON) -> World:
    traits: list[Object] = [
        {"name": "split", "traits": {"served_entities": {"a": 50, "b": 50}}},
        {"name": "asleep", "traits": {"scale_to_zero_enabled": True}},
        {"name": "guarded", "traits": {"ai_gateway": {"guardrails": {"input": {"pii": {"behavior": "BLOCK"}}}}}},
        {"name": "template", "traits": {"template_overhead_tokens": 30}},
        {"name": "gone", "state": "stopped"},
    ]
    return World(
        vendor="databricks",
        path="/serving-endpoints/chat/completions",
        models=(LLAMA, CLAUDE, GPT, *[str(entry["name"]) for entry in (*_KINDS, *traits)]),
        settings=dict(switches),
        deployments=(*_KINDS, *traits),
    )


def _azure(path: str = "", model: str = "mistral-small-2503", **switches: JSON) -> World:
    return World(
        vendor="azure",
        path=f"{path}/chat/completions",
        models=(
            model,
            "gpt-4o",
            "o3-mini",
            "DeepSeek-R1",
            "Phi-4",
            "Cohere-embed-v3-english",
            "small",
            "usual",
            "gone",
        ),
        settings=dict(switches),
        deployments=(*_KINDS, {"name": "gone", "state": "loading"}),
        query={"api-version": "2024-05-01-preview"},
    )


def _openvino(**switches: JSON) -> World:
    traits: list[Object] = [
        {"name": "thinking", "traits": {"reasoning": True}},
        {"name": "stock", "traits": {"chat_template": "stock"}},
        {"name": "seeing", "kind": "vision"},
        {"name": "short", "traits": {"max_tokens_limit": 12, "max_prompt_len": 40}},
        {"name": "tight", "context": 60, "traits": {"max_tokens_limit": 100}},
        {"name": "stateful", "traits": {"stateful": True, "tool_parser": "none"}},
    ]
    return World(
        vendor="openvino",
        path="/v3/chat/completions",
        models=("llama3", *[str(entry["name"]) for entry in (*_KINDS, *traits)]),
        settings=dict(switches),
        deployments=(*_KINDS, *traits),
    )


def _mindie(**switches: JSON) -> World:
    return World(
        vendor="mindie",
        path="/v1/chat/completions",
        models=("llama_65b", "qwen", "small", "usual", "gone", "adapter"),
        settings=dict(switches),
        deployments=(*_KINDS, {"name": "gone", "state": "loading"}, {"name": "adapter", "kind": "lora"}),
    )


def _tgi(*deployments: Object, **switches: JSON) -> World:
    return World(
        vendor="tgi",
        path="/v1/chat/completions",
        models=("tgi", "mistralai/Mistral-7B-Instruct-v0.2", "small", "adapter"),
        settings=dict(switches),
        deployments=(*deployments, {"name": "adapter", "kind": "lora", "max_output": 5}),
    )


WORLDS = [
    pytest.param(_databricks(), id="databricks"),
    pytest.param(_databricks(profile="seed"), id="databricks as in the seed"),
    pytest.param(_databricks(alternate_roles=True), id="databricks, where roles must alternate"),
    pytest.param(_databricks(model_max_tokens=False, parallel_tool_calls=True), id="databricks, calls in parallel"),
    pytest.param(_databricks(payload_limit_bytes=200), id="databricks, short bodies"),
    pytest.param(_databricks(rate_limits="raised"), id="databricks, with limits"),
    *(pytest.param(_azure(profile=p), id=f"azure as {p}") for p in ("seed", "maas", "managed", "foundry", "aoai")),
    pytest.param(_azure("/openai/deployments/gpt-4o"), id="azure, a deployment of Azure OpenAI"),
    pytest.param(_azure("/openai/deployments/small"), id="azure, a small deployment"),
    pytest.param(_azure("/openai/v1", model="gpt-4o"), id="azure, Azure OpenAI without versions"),
    pytest.param(_azure("/endpoints/usual"), id="azure, an endpoint of its own"),
    pytest.param(_azure("/models", api_versions=["2023-01-01"]), id="azure, where no version fits"),
    *(
        pytest.param(_openvino(profile=p), id=f"openvino {p}")
        for p in ("2024.2", "2025.0", "2025.2", "2026.0", "2026.3")
    ),
    pytest.param(_openvino(profile="2026.3", verbose_response=True), id="openvino, verbose"),
    pytest.param(_mindie(), id="mindie"),
    pytest.param(_mindie(infer_mode="dmi"), id="mindie behind a Coordinator"),
    pytest.param(_mindie(max_seq_len=50, truncation=True, enable_reasoning=True), id="mindie, short and cut"),
    pytest.param(_mindie(max_input_chars=1000, full_text=True), id="mindie, of few characters"),
    pytest.param(_tgi(), id="tgi"),
    pytest.param(_tgi(_KINDS[0]), id="tgi, a small model"),
    pytest.param(_tgi(_KINDS[1], max_total_tokens=60, max_input_tokens=50), id="tgi, few tokens"),
    pytest.param(_tgi(profile="0.9.4"), id="tgi 0.9.4"),
    pytest.param(_tgi({"name": "gone", "state": "loading"}), id="tgi, not loaded yet"),
    pytest.param(_azure(default_max_tokens=5), id="azure, a limit by default"),
]

TEXTS = st.sampled_from(
    ["", "Tell me about the tides.", "Was ist das?", "潮", "\n", "tide " * 40, "I'm <ov_genai_image_0>", "user/admin é"]
)
CONTENTS: st.SearchStrategy[JSON] = TEXTS | st.sampled_from([None, 1, [], [{"type": "text", "text": "x"}], {}])
ROLES = st.sampled_from(["user", "user", "assistant", "system", "tool", "developer", "", None, 7])
MESSAGES: st.SearchStrategy[JSON] = st.lists(
    st.builds(lambda role, content: {"role": role, "content": content}, ROLES, CONTENTS)
    | st.sampled_from([{}, [], None, {"role": "user"}, {"role": "user", "content": "a", "name": "b"}]),
    max_size=4,
)
LIMITS = st.sampled_from([1, 5, 10, 11, 64, 4096, 10**6, 2**31, 2**63, 0, -1, True, 1.0, "5", None])
OTHERS = st.sampled_from(["temperature", "n", "stop", "max_completion_tokens", "tools", "user", "seed", "top_p", "x"])
ODDITIES = ("model", "messages", "max_tokens", "stream", "other", "without")


@st.composite
def bodies(draw: st.DrawFn, models: tuple[str, ...]) -> JSON:
    """Usual bodies, and such as are usual but for something."""
    said = draw(st.lists(TEXTS, min_size=1, max_size=3))
    turns: list[JSON] = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(said)]
    system: list[JSON] = draw(st.sampled_from([[], [{"role": "system", "content": "Be brief."}]]))
    body: Object = {"model": draw(st.sampled_from(models)), "messages": [*system, *turns]}
    body |= draw(st.sampled_from([{}, {"max_tokens": 5}, {"max_tokens": 64}]))
    body |= draw(st.sampled_from([{}, {"stream": True}, {"stream": False}]))
    for odd in draw(st.sets(st.sampled_from(ODDITIES), max_size=1) | st.just(())):
        if odd == "model":
            body["model"] = draw(st.sampled_from(["nobody", "", None, 3]))
        elif odd == "messages":
            body["messages"] = draw(MESSAGES | st.sampled_from([None, {}, "hi"]))
        elif odd == "max_tokens":
            body["max_tokens"] = draw(LIMITS)
        elif odd == "stream":
            body["stream"] = draw(st.sampled_from([None, "yes", 1]))
        elif odd == "other":
            body[draw(OTHERS)] = draw(st.sampled_from([1, 0.5, None, [], "a"]))
        else:
            del body[draw(st.sampled_from(["model", "messages"]))]
    return body


@cache
def find(world: World) -> tuple[FastParser[Any, Any], dict[str, str], AnyService]:
    """Where the world is asked."""
    vendor = VENDORS[world.vendor]
    entries = [{"vendor": world.vendor, **entry} for entry in world.deployments]
    head: JSON = {"version": 1, "vendors": {world.vendor: world.settings}, "deployments": entries}
    scenario = Scenario.model_validate(head)
    service = create_service(vendor, read_settings(vendor, scenario), scenario, FrozenClock(), VendorMetrics())
    endpoint, params = Router(vendor.endpoints).resolve("POST", world.path)
    assert isinstance(endpoint.parse, FastParser)
    return endpoint.parse, dict(params), service


def read(world: World, body: JSON | bytes) -> tuple[InferenceCall | None, InferenceCall | EmulatedError, Request]:
    """A request as the short way reads it, and as the long one does; ``body`` is JSON unless bytes."""
    parse, params, service = find(world)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = Request("POST", world.path, world.query, headers, sent, params, key=bytes(range(16)))
    call = parse.fast(request, service)
    try:
        whole = parse.full(request, service)
    except EmulatedError as error:
        return call, error, request
    assert isinstance(whole, InferenceCall)
    return call, whole, request


def say(call: InferenceCall, request: Request) -> object:
    """What goes over the wire."""
    tokenizer = tokenizer_for(call.deployment.tokenizer)
    draft = generate(call.request, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens)
    plan = Plan(bytes(16), 5.0, draft.choices, usage=draft.usage)
    if call.stream:
        stream = call.codec.stream(plan, request)
        return stream.headers, list(stream.events), plan.choices[0].ids
    answer = call.codec.render(plan, request)
    return answer.headers, answer.body, answer.close, plan.choices[0].ids


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_the_short_way_reads_what_the_long_one_does(world: World, data: st.DataObject) -> None:
    compare(world, data.draw(bodies(world.models)))


def compare(world: World, body: JSON | bytes) -> None:
    """Whatever the short way reads, the long one reads as the same call, which is answered with the same bytes."""
    call, whole, request = read(world, body)
    if call is None:
        return
    assert isinstance(whole, InferenceCall), f"refused: {whole}"
    for part in fields(InferenceCall):
        if part.name not in ("codec", "store_result", "fallback", "cancel_ids"):
            assert getattr(call, part.name) == getattr(whole, part.name), part.name
    assert (call.store_result, whole.store_result, call.fallback, whole.fallback) == (None,) * 4
    assert isinstance(call.request, ChatRequest)
    assert call.request.language == detect_language(call.request.prompt or "")
    assert (call.cancel_ids is None) == (whole.cancel_ids is None)
    if call.cancel_ids is not None and whole.cancel_ids is not None:
        assert call.cancel_ids(request.key) == whole.cancel_ids(request.key)
    assert say(call, request) == say(whole, request)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_every_model_is_asked_alike(world: World) -> None:
    """Of short prompts and of long ones, within every bound and beyond."""
    texts = ("Tell me about the tides.", "tide " * 30, "tide " * 300, "I'm <ov_genai_image_0>")
    limits = (None, 5, 10, 11, 12, 64)
    for model, text, limit in product(world.models, texts, limits):
        more = {} if limit is None else {"max_tokens": limit}
        compare(world, {"model": model, "messages": [{"role": "user", "content": text}], **more})
    for model, stream in product(world.models, (True, False)):
        said: JSON = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}]
        compare(world, {"model": model, "messages": said, "stream": stream})


def say_all(turns: str) -> JSON:
    """``u:text|a:`` and so on."""
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return [{"role": roles[turn[0]], "content": turn[2:]} for turn in turns.split("|")]


CONVERSATIONS = (
    *("u:Hi|a:Was ist das?|u:More", "s:Be brief.|u:Hi", "u:Hi|s:Be brief.|u:More", "s:Be brief.|s:Be kind.|u:Hi"),
    *("u:Hi|a:Was ist das?", "a:Was ist das?", "s:Be brief.", "u:", "s:|u:Hi", "u:Hi|a:|u:More", "u:Hi|u:More"),
    *("u:Hi|a:So|a:And|u:More", "t:x", "u:Hi|t:x|u:More"),
)


@pytest.mark.parametrize("world", WORLDS)
def test_every_conversation_is_read_alike(world: World) -> None:
    for turns in CONVERSATIONS:
        compare(world, {"model": world.models[0], "messages": say_all(turns)})


PLAIN = [_databricks(), _azure(), _azure("/openai/deployments/gpt-4o"), _openvino(), _mindie(), _tgi()]


@pytest.mark.parametrize("world", PLAIN, ids=lambda world: world.vendor + world.path)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '{"model":"%s","messages":[{"role":"user","content":"x"}],"max_tokens":5,"max_tokens":6}', id="twice"
        ),
        pytest.param(
            '{"max_tokens" :6,"model":"%s","messages":[{"role":"user","content":"x"}],"max_tokens":5}', id="spaced"
        ),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"x","content":"y"}]}', id="twice inside"),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"a \\":\\" b: c"}]}', id="a quoted colon"),
        pytest.param(
            '{"model":"%s","\\u006dodel":"other","messages":[{"role":"user","content":"x"}]}', id="an escaped key"
        ),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"\\u00e9t\\u00e9 \\u0000"}]}', id="escapes"),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"x"}],"max_tokens":5e0}', id="an exponent"),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"x"}]}\0', id="a NUL behind it"),
        pytest.param('\ufeff{"model":"%s","messages":[{"role":"user","content":"x"}]}', id="a mark before it"),
        pytest.param('{"model":"%s","messages":[{"role":"user","content":"x"}]', id="cut"),
        pytest.param('[{"model":"%s"}]', id="a list"),
    ],
)
def test_a_body_in_an_odd_form_is_read_alike(world: World, text: str) -> None:
    compare(world, (text % world.models[0]).encode())


@pytest.mark.parametrize("world", PLAIN, ids=lambda world: world.vendor + world.path)
def test_a_usual_request_takes_the_short_way(world: World) -> None:
    said: JSON = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tell me about the tides."}]
    for more in ({}, {"max_tokens": 5}, {"stream": True}, {"stream": False, "max_tokens": 9}):
        call, _, _ = read(world, {"model": world.models[0], "messages": said, **more})
        assert call is not None, more
    call, _, _ = read(world, {"model": world.models[0], "messages": said, "temperature": 0.5})
    assert call is None


@pytest.mark.parametrize("world", PLAIN[:4], ids=lambda world: world.vendor + world.path)
def test_what_words_an_answer_is_made_once_for_all(world: World) -> None:
    asked: list[JSON] = [{"model": world.models[0], "messages": [{"role": "user", "content": text}]} for text in "ab"]
    one, other = [read(world, body)[0] for body in asked]
    assert one is not None
    assert other is not None
    assert one.codec is other.codec


@pytest.mark.parametrize("header", ["extra-parameters", "azureml-model-deployment", "Content-Type"])
def test_headers_that_have_a_say_are_left_to_the_long_way(header: str) -> None:
    parse, _, service = find(_azure())
    body: JSON = {"model": "mistral-small-2503", "messages": [{"role": "user", "content": "Tell me about the tides."}]}
    request = Request("POST", "/chat/completions", {"api-version": "2024-05-01"}, {}, json.dumps(body).encode())
    assert parse.fast(request, service) is not None
    request.headers = {header: "text/plain"}
    assert parse.fast(request, service) is None
