"""A request is parsed alike whether its options were parsed before or not."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.calls import InferenceCall
from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest
from emulator.core.vendor import AnyService
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
class Setup:
    """Vendor settings with extra deployments, and the path and models of the requests."""

    vendor: str
    path: str
    models: tuple[str, ...]
    settings: Object = field(default_factory=dict, hash=False)
    deployments: tuple[Object, ...] = field(default=(), hash=False)
    query: dict[str, str] = field(default_factory=dict, hash=False)


def _databricks(**switches: JSON) -> Setup:
    traits: list[Object] = [
        {"name": "split", "traits": {"served_entities": {"a": 50, "b": 50}}},
        {"name": "asleep", "traits": {"scale_to_zero_enabled": True}},
        {"name": "guarded", "traits": {"ai_gateway": {"guardrails": {"input": {"pii": {"behavior": "BLOCK"}}}}}},
        {"name": "template", "traits": {"template_overhead_tokens": 30}},
        {"name": "gone", "state": "stopped"},
    ]
    return Setup(
        vendor="databricks",
        path="/serving-endpoints/chat/completions",
        models=(LLAMA, CLAUDE, GPT, *[str(entry["name"]) for entry in (*_KINDS, *traits)]),
        settings=dict(switches),
        deployments=(*_KINDS, *traits),
    )


def _azure(path: str = "", model: str = "mistral-small-2503", **switches: JSON) -> Setup:
    return Setup(
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


def _openvino(**switches: JSON) -> Setup:
    traits: list[Object] = [
        {"name": "thinking", "traits": {"reasoning": True}},
        {"name": "stock", "traits": {"chat_template": "stock"}},
        {"name": "seeing", "kind": "vision"},
        {"name": "short", "traits": {"max_tokens_limit": 12, "max_prompt_len": 40}},
        {"name": "tight", "context": 60, "traits": {"max_tokens_limit": 100}},
        {"name": "stateful", "traits": {"stateful": True, "tool_parser": "none"}},
    ]
    return Setup(
        vendor="openvino",
        path="/v3/chat/completions",
        models=("llama3", *[str(entry["name"]) for entry in (*_KINDS, *traits)]),
        settings=dict(switches),
        deployments=(*_KINDS, *traits),
    )


def _mindie(**switches: JSON) -> Setup:
    return Setup(
        vendor="mindie",
        path="/v1/chat/completions",
        models=("llama_65b", "qwen", "small", "usual", "gone", "adapter"),
        settings=dict(switches),
        deployments=(*_KINDS, {"name": "gone", "state": "loading"}, {"name": "adapter", "kind": "lora"}),
    )


def _tgi(*deployments: Object, **switches: JSON) -> Setup:
    return Setup(
        vendor="tgi",
        path="/v1/chat/completions",
        models=("tgi", "mistralai/Mistral-7B-Instruct-v0.2", "small", "adapter"),
        settings=dict(switches),
        deployments=(*deployments, {"name": "adapter", "kind": "lora", "max_output": 5}),
    )


SETUPS = [
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
def find(setup: Setup) -> tuple[Callable[[Request, AnyService], object], dict[str, str], AnyService]:
    """Return the parser, the path parameters and the service of a setup."""
    vendor = VENDORS[setup.vendor]
    entries = [{"vendor": setup.vendor, **entry} for entry in setup.deployments]
    head: JSON = {"version": 1, "vendors": {setup.vendor: setup.settings}, "deployments": entries}
    scenario = Scenario.model_validate(head)
    service = create_service(vendor, read_settings(vendor, scenario), scenario, FrozenClock(), VendorMetrics())
    endpoint, params = Router(vendor.endpoints).resolve("POST", setup.path)
    return endpoint.parse, dict(params), service


def parse(setup: Setup, body: JSON | bytes, headers: dict[str, str] | None = None) -> InferenceCall | EmulatedError:
    """Parse a request; ``body`` is JSON unless bytes."""
    run, _, service = find(setup)
    try:
        call = run(build(setup, body, headers), service)
    except EmulatedError as error:
        return error
    assert isinstance(call, InferenceCall)
    return call


def build(setup: Setup, body: JSON | bytes, headers: dict[str, str] | None = None) -> Request:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    return Request("POST", setup.path, setup.query, given, sent, find(setup)[1], key=bytes(range(16)))


PLAIN_SAID: JSON = [{"role": "user", "content": "Was ist das?"}]


def remember(setup: Setup, body: JSON | bytes) -> None:
    """Send other plain messages with the options of a body until they are remembered."""
    with suppress(ValueError):
        options = json.loads(body.decode("utf-8-sig")) if isinstance(body, bytes) else body
        if isinstance(options, dict):
            for _ in range(2):
                parse(setup, {**options, "messages": PLAIN_SAID})


def is_remembered(setup: Setup) -> bool:
    return any(options is not None for options in find(setup)[2].options.values())


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
@pytest.mark.parametrize("setup", SETUPS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_remembered_options_are_read_as_new_ones(setup: Setup, data: st.DataObject) -> None:
    compare(setup, data.draw(bodies(setup.models)))


def compare(setup: Setup, body: JSON | bytes, headers: dict[str, str] | None = None) -> None:
    """A request has the same call or refusal whether its options were seen before or not."""
    find(setup)[2].options.clear()
    whole = parse(setup, body, headers)
    remember(setup, body)
    call, request = parse(setup, body, headers), build(setup, body, headers)
    if isinstance(whole, EmulatedError):
        assert isinstance(call, EmulatedError)
        assert (call.kind, call.message, call.details) == (whole.kind, whole.message, whole.details)
        return
    assert isinstance(call, InferenceCall), f"refused: {call}"
    for part in fields(InferenceCall):
        if part.name not in ("codec", "store_result", "fallback", "cancel_ids", "options"):
            assert getattr(call, part.name) == getattr(whole, part.name), part.name
    assert (call.store_result, call.fallback) == (None, None)
    assert isinstance(call.request, ChatRequest)
    assert call.request.language in ("", detect_language(call.request.prompt or ""))
    assert (call.cancel_ids is None) == (whole.cancel_ids is None)
    if call.cancel_ids is not None and whole.cancel_ids is not None:
        assert call.cancel_ids(request.key) == whole.cancel_ids(request.key)
    assert say(call, request) == say(whole, request)


@pytest.mark.parametrize("setup", SETUPS)
def test_every_model_is_asked_alike(setup: Setup) -> None:
    """Of short prompts and of long ones, within every bound and beyond."""
    texts = ("Tell me about the tides.", "tide " * 30, "tide " * 300, "I'm <ov_genai_image_0>")
    limits = (None, 5, 10, 11, 12, 64)
    for model, text, limit in product(setup.models, texts, limits):
        more = {} if limit is None else {"max_tokens": limit}
        compare(setup, {"model": model, "messages": [{"role": "user", "content": text}], **more})
    for model, stream in product(setup.models, (True, False)):
        said: JSON = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}]
        compare(setup, {"model": model, "messages": said, "stream": stream})


def say_all(turns: str) -> JSON:
    """``u:text|a:`` and so on."""
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return [{"role": roles[turn[0]], "content": turn[2:]} for turn in turns.split("|")]


CONVERSATIONS = (
    *("u:Hi|a:Was ist das?|u:More", "s:Be brief.|u:Hi", "u:Hi|s:Be brief.|u:More", "s:Be brief.|s:Be kind.|u:Hi"),
    *("u:Hi|a:Was ist das?", "a:Was ist das?", "s:Be brief.", "u:", "s:|u:Hi", "u:Hi|a:|u:More", "u:Hi|u:More"),
    *("u:Hi|a:So|a:And|u:More", "t:x", "u:Hi|t:x|u:More"),
)


@pytest.mark.parametrize("setup", SETUPS)
def test_every_conversation_is_read_alike(setup: Setup) -> None:
    for turns in CONVERSATIONS:
        compare(setup, {"model": setup.models[0], "messages": say_all(turns)})


PLAIN = [_databricks(), _azure(), _azure("/openai/deployments/gpt-4o"), _openvino(), _mindie(), _tgi()]


@pytest.mark.parametrize("setup", PLAIN, ids=lambda setup: setup.vendor + setup.path)
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
def test_a_body_in_an_odd_form_is_read_alike(setup: Setup, text: str) -> None:
    compare(setup, (text % setup.models[0]).encode())


OPTIONS: tuple[Object, ...] = (
    {},
    {"max_tokens": 5},
    {"stream": True},
    {"stream": False, "max_tokens": 9},
    {"temperature": 0.5, "top_p": 0.5},
    {"stop": ["a", "b"], "seed": 1},
    {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
)


@pytest.mark.parametrize("setup", PLAIN, ids=lambda setup: setup.vendor + setup.path)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_are_remembered_when_seen_twice(setup: Setup, options: Object) -> None:
    body: Object = {"model": setup.models[0], "messages": PLAIN_SAID, **options}
    compare(setup, body)
    assert is_remembered(setup) or isinstance(parse(setup, body), EmulatedError)
    find(setup)[2].options.clear()
    parse(setup, body)
    assert not is_remembered(setup)


@pytest.mark.parametrize("value", [1, 1.0, True, "1", -0.0, 0, None, [1], {"a": 1}], ids=repr)
@pytest.mark.parametrize("setup", PLAIN, ids=lambda setup: setup.vendor + setup.path)
def test_equal_values_of_other_types_are_distinguished(setup: Setup, value: JSON) -> None:
    body: Object = {"model": setup.models[0], "messages": PLAIN_SAID}
    for other in (1, 1.0, True, 0.0, -0.0, 0, False):
        for name in ("temperature", "max_tokens", "seed"):
            find(setup)[2].options.clear()
            remember(setup, {**body, name: other})
            again = parse(setup, {**body, name: value})
            find(setup)[2].options.clear()
            whole = parse(setup, {**body, name: value})
            assert (isinstance(again, EmulatedError)) == (isinstance(whole, EmulatedError)), (name, other)
            if isinstance(again, InferenceCall) and isinstance(whole, InferenceCall):
                assert repr(again.request) == repr(whole.request)


USERS: tuple[JSON, ...] = ("other", "", 'a ":" b', 'a\\": b', "é", "\0", 1, None, [], {"messages": 1})


@pytest.mark.parametrize("setup", PLAIN, ids=lambda setup: setup.vendor + setup.path)
def test_a_new_user_is_read_alike(setup: Setup) -> None:
    body: Object = {"model": setup.models[0], "messages": PLAIN_SAID}
    for first, user in (*product(("first",), USERS), *product((None, 1), ("other", None))):
        find(setup)[2].options.clear()
        whole = parse(setup, {**body, "user": user})
        without = parse(setup, body)
        remember(setup, {**body, "user": first})
        again = parse(setup, {**body, "user": user})
        assert repr(again) == repr(whole) if isinstance(whole, EmulatedError) else not isinstance(again, EmulatedError)
        assert repr(parse(setup, body)) == repr(without)
        if isinstance(again, InferenceCall) and isinstance(whole, InferenceCall):
            assert again.request == whole.request


@pytest.mark.parametrize("setup", PLAIN[2:3] + PLAIN[3:5] + PLAIN[:1], ids=lambda setup: setup.vendor + setup.path)
def test_options_are_remembered_once_for_all_users(setup: Setup) -> None:
    remember(setup, {"model": setup.models[0], "user": "first"})
    known = len(find(setup)[2].options)
    calls = [parse(setup, {"model": setup.models[0], "messages": PLAIN_SAID, "user": user}) for user in ("b", "c")]
    assert len(find(setup)[2].options) == known
    assert all(isinstance(call, InferenceCall) for call in calls)


@pytest.mark.parametrize("setup", PLAIN[:4], ids=lambda setup: setup.vendor + setup.path)
def test_what_words_an_answer_is_made_once_for_all(setup: Setup) -> None:
    remember(setup, {"model": setup.models[0]})
    asked: list[JSON] = [{"model": setup.models[0], "messages": [{"role": "user", "content": text}]} for text in "ab"]
    one, other = [parse(setup, body) for body in asked]
    assert isinstance(one, InferenceCall)
    assert isinstance(other, InferenceCall)
    assert one.codec is other.codec


@pytest.mark.parametrize("header", ["extra-parameters", "azureml-model-deployment", "Content-Type"])
def test_headers_that_have_a_say_are_part_of_the_options(header: str) -> None:
    body: JSON = {"model": "mistral-small-2503", "messages": PLAIN_SAID}
    compare(_azure(), body)
    compare(_azure(), body, {header: "text/plain"})


def test_a_named_served_entity_is_part_of_the_options() -> None:
    """A fallback asks for another entity under the same path."""
    setup = _databricks()
    run, _, service = find(setup)
    body: JSON = {"model": "split", "messages": PLAIN_SAID}
    service.options.clear()
    served = []
    for name in "aababb":
        request = build(setup, body)
        request.params = {"served": name}
        call = run(request, service)
        assert isinstance(call, InferenceCall)
        served.append(call.served)
    assert "".join(served) == "aababb"


def test_long_options_are_not_remembered() -> None:
    setup = _azure()
    find(setup)[2].options.clear()
    for length, remembered in ((3000, False), (10, True)):
        remember(setup, {"model": setup.models[0], "stop": ["x" * length]})
        assert is_remembered(setup) is remembered


def test_unique_options_leave_no_call_behind() -> None:
    setup = _databricks()
    find(setup)[2].options.clear()
    for seed in range(600):
        parse(setup, {"model": setup.models[0], "messages": PLAIN_SAID, "seed": seed})
    assert not is_remembered(setup)
    assert len(find(setup)[2].options) <= 512


@pytest.mark.parametrize("dressed", [b"\xef\xbb\xbf%b", b"%bx", b"%b\x00", b" \xef\xbb\xbf%b"], ids=repr)
@pytest.mark.parametrize("setup", PLAIN, ids=lambda setup: setup.vendor + setup.path)
def test_body_that_only_a_lenient_parser_reads_leaves_no_options(setup: Setup, dressed: bytes) -> None:
    body: Object = {"model": setup.models[0], "messages": PLAIN_SAID, "max_tokens": 3, "stream": True}
    bare: Object = {"messages": PLAIN_SAID}
    find(setup)[2].options.clear()
    whole = parse(setup, bare)
    find(setup)[2].options.clear()
    for _ in range(3):
        parse(setup, dressed % json.dumps(body).encode())
    again = parse(setup, bare)
    assert repr(again) == repr(whole) if isinstance(whole, EmulatedError) else not isinstance(again, EmulatedError)
    if isinstance(again, InferenceCall) and isinstance(whole, InferenceCall):
        assert (again.request, again.stream) == (whole.request, whole.stream)


def test_number_that_only_the_strict_parser_refuses_is_not_recalled() -> None:
    setup = _openvino()
    body = b'{"model": "llama3", "messages": [{"role": "user", "content": "a"}], "temperature": %b}'
    refused = parse(setup, body % b"0e999")
    assert isinstance(refused, EmulatedError)
    for _ in range(3):
        assert isinstance(parse(setup, body % b"0.0"), InferenceCall)
    assert isinstance(parse(setup, body % b"0e999"), EmulatedError)
