"""What is read at little cost is read as the vendor's own checks read it, and what they refuse is left to them."""

import json
from dataclasses import dataclass, field, fields
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.call import ChatAsk
from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object
from emulator.core.plan import Plan
from emulator.core.vendor import AnyEndpoint, AnyService, Call
from emulator.core.wire import WireRequest
from emulator.engine.language import detect_language
from emulator.engine.tokenizer import tokenizer_for
from emulator.engine.write import write
from emulator.scenario.schema import Scenario
from emulator.server.metrics import VendorMetrics
from emulator.server.routing import Router
from emulator.server.serving import read_settings, serve
from emulator.vendors import VENDORS

LLAMA, CLAUDE, GPT = ("databricks-meta-llama-3-3-70b-instruct", "databricks-claude-sonnet-4-5", "databricks-gpt-5")
_KINDS: list[Object] = [{"name": "small", "context": 60, "max_output": 10}, {"name": "usual", "default_max_tokens": 7}]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A vendor under settings, with deployments beside its own, and where it is asked for which models."""

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


WORLDS = [
    pytest.param(_databricks(), id="databricks"),
    pytest.param(_databricks(profile="seed"), id="databricks as in the seed"),
    pytest.param(_databricks(alternate_roles=True), id="databricks, where roles must alternate"),
    pytest.param(_databricks(model_max_tokens=False, parallel_tool_calls=True), id="databricks, calls in parallel"),
    pytest.param(_databricks(payload_limit_bytes=200), id="databricks, short bodies"),
    pytest.param(_databricks(rate_limits="raised"), id="databricks, with limits"),
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
PLAIN = st.builds(
    lambda system, said, last: [
        *([{"role": "system", "content": system}] if system else []),
        *[{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(said)],
        {"role": "user", "content": last},
    ],
    TEXTS,
    st.lists(TEXTS, max_size=2),
    TEXTS,
)
LIMITS = st.sampled_from([1, 5, 10, 11, 64, 4096, 10**6, 2**31, 2**63, 0, -1, True, 1.0, "5", None])
OTHERS = st.sampled_from(["temperature", "n", "stop", "max_completion_tokens", "tools", "user", "seed", "top_p", "x"])


@st.composite
def bodies(draw: st.DrawFn, models: tuple[str, ...]) -> JSON:
    """Bodies as they are sent, most of them usual."""
    body: Object = {"model": draw(st.sampled_from([*models, *models, "nobody", "", None, 3]))}
    body["messages"] = draw(PLAIN | PLAIN | MESSAGES | st.sampled_from([None, {}, "hi"]))
    if draw(st.booleans()):
        body["max_tokens"] = draw(LIMITS)
    if draw(st.booleans()):
        body["stream"] = draw(st.sampled_from([True, False, None, "yes"]))
    if draw(st.integers(0, 5)) == 0:
        body[draw(OTHERS)] = draw(st.sampled_from([1, 0.5, None, [], "a"]))
    for name in draw(st.sampled_from([[], [], [], ["model"], ["messages"]])):
        del body[name]
    return body


@cache
def find(world: World) -> tuple[AnyEndpoint, dict[str, str], AnyService]:
    """Where the world is asked."""
    vendor = VENDORS[world.vendor]
    entries = [{"vendor": world.vendor, **entry} for entry in world.deployments]
    head = {"version": 1, "vendors": {world.vendor: world.settings}, "deployments": entries}
    scenario = Scenario.model_validate(head)
    service = serve(vendor, read_settings(vendor, scenario), scenario, FrozenClock(), VendorMetrics())
    endpoint, params = Router(vendor.endpoints).resolve("POST", world.path)
    return endpoint, dict(params), service


def read(world: World, body: JSON) -> tuple[Call | None, Call | EmulatedError, WireRequest]:
    """A request as the short way reads it, and as the long one does."""
    endpoint, params, service = find(world)
    assert endpoint.plain is not None
    request = WireRequest("POST", world.path, world.query, {}, json.dumps(body).encode(), params, key=bytes(range(16)))
    call = endpoint.plain(request, service)
    request.headers = {"Content-Type": "application/json"}
    try:
        whole = endpoint.parse(request, service)
    except EmulatedError as error:
        return call, error, request
    assert isinstance(whole, Call)
    return call, whole, request


def say(call: Call, request: WireRequest) -> object:
    """What goes over the wire."""
    tokenizer = tokenizer_for(call.deployment.tokenizer)
    draft = write(call.ask, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens)
    plan = Plan(bytes(16), 5.0, draft.choices, usage=draft.usage)
    if call.stream:
        stream = call.codec.stream(plan, request)
        return stream.headers, list(stream.events), plan.choices[0].ids
    answer = call.codec.render(plan, request)
    return answer.headers, answer.body, answer.close, plan.choices[0].ids


@pytest.mark.parametrize("world", WORLDS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_short_way_reads_what_the_long_one_does(world: World, data: st.DataObject) -> None:
    call, whole, request = read(world, data.draw(bodies(world.models)))
    if call is None:
        return
    assert isinstance(whole, Call), f"refused: {whole}"
    for part in fields(Call):
        if part.name not in ("codec", "keep", "fallback"):
            assert getattr(call, part.name) == getattr(whole, part.name), part.name
    assert (call.keep, whole.keep, call.fallback, whole.fallback) == (None,) * 4
    assert isinstance(call.ask, ChatAsk)
    assert call.ask.language == detect_language(call.ask.prompt or "")
    assert say(call, request) == say(whole, request)


@pytest.mark.parametrize("world", WORLDS[:1])
def test_a_usual_request_takes_the_short_way(world: World) -> None:
    said: JSON = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tell me about the tides."}]
    for more in ({}, {"max_tokens": 5}, {"stream": True}, {"stream": False, "max_tokens": 9}):
        call, _, _ = read(world, {"model": world.models[0], "messages": said, **more})
        assert call is not None, more
        again, _, _ = read(world, {"model": world.models[0], "messages": said, **more})
        assert again is not None
        assert call.codec is again.codec, "made once, for all"
    call, _, _ = read(world, {"model": world.models[0], "messages": said, "temperature": 0.5})
    assert call is None
