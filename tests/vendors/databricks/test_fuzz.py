"""Any JSON body gets a response or an error in Databricks' own words."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.protocols.gemini.request import MESSAGES
from emulator.vendors.databricks.completions import FIELDS as COMPLETIONS
from emulator.vendors.databricks.decoder import Either, Many, Scalar, Shape, Struct
from emulator.vendors.databricks.embeddings import EXTENDED_FIELDS as EMBEDDINGS
from emulator.vendors.databricks.responses.parse import FIELDS as RESPONSES
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, CLAUDE, GPT, LLAMA, MPT, invoke, make_service, send

pytestmark = pytest.mark.slow

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)
WORDS = st.sampled_from(
    [
        "user", "assistant", "system", "tool", "function", "text", "json_schema", "json_object", "auto", "required",
        "none", "image_url", "input_text", "function_call", "function_call_output", "message", "enabled", "low", "",
    ]
)  # fmt: skip


def near(shape: Shape) -> st.SearchStrategy[Any]:
    """Mostly what fits a shape, sometimes anything."""
    if isinstance(shape, Struct):
        fitting: st.SearchStrategy[Any] = st.fixed_dictionaries(
            {}, optional={k: near(s) for k, s in shape.fields.items()}
        )
    elif isinstance(shape, Many):
        fitting = st.lists(near(shape.item), max_size=3)
    elif isinstance(shape, Either):
        fitting = st.one_of([near(one) for one in shape.shapes])
    else:
        fitting = _scalar(shape)
    return fitting | fitting | fitting | ANYTHING


def _scalar(shape: Scalar) -> st.SearchStrategy[Any]:
    numbers = st.integers(-1, 40) | st.floats(-1, 3)
    kinds: JSON = {
        "string": WORDS | st.text(max_size=8), "integer": numbers, "number": numbers, "boolean": st.booleans(),
        "object": st.dictionaries(st.sampled_from(["type", "name", "properties", "a"]), ANYTHING, max_size=3),
    }  # fmt: skip
    found: st.SearchStrategy[Any] = kinds.get(shape.type, ANYTHING)
    return found


def chat_fields(name: str) -> Struct:
    """All that an endpoint that refuses no field takes."""
    return make_service({"strict_unknown_fields": "off"}, ()).profiles[name].chat_fields


SHAPES: JSON = [
    pytest.param(LLAMA, chat_fields(LLAMA), id="chat, open"),
    pytest.param(CLAUDE, chat_fields(CLAUDE), id="chat, Claude"),
    pytest.param(GPT, chat_fields(GPT), id="chat, GPT"),
    pytest.param(MPT, COMPLETIONS, id="completions"),
    pytest.param(BGE, EMBEDDINGS, id="embeddings"),
    pytest.param(GPT, RESPONSES, id="responses"),
]


@pytest.mark.parametrize(("name", "shape"), SHAPES)
@pytest.mark.parametrize("mode", ["by-model", "off"])
def test_every_body_is_answered(name: str, shape: Struct, mode: str) -> None:
    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(body=near(shape))
    def check(body: JSON) -> None:
        answer = invoke(name, json.dumps(_clean(body)).encode(), strict_unknown_fields=mode)
        assert answer.status in (200, 400)

    check()


def near_message(kind: str) -> st.SearchStrategy[Any]:
    """The same of a message of the Gemini API."""
    if kind.startswith("*"):
        return st.lists(near_message(kind[1:]), max_size=3)
    kinds: JSON = {"string": WORDS | st.text(max_size=8), "bool": st.booleans(), "int32": st.integers(-1, 40)}
    scalar: st.SearchStrategy[Any] = kinds.get(kind, st.floats(-1, 3) | st.sampled_from(["ANY", "model", "function"]))
    if kind not in MESSAGES:
        return ANYTHING if kind == "any" else scalar
    return st.fixed_dictionaries({}, optional={name: near_message(inner) for name, inner in MESSAGES[kind].items()})


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent", "countTokens"])
def test_every_gemini_body_is_answered(method: str) -> None:
    kind = "CountTokensRequest" if method == "countTokens" else "GenerateContentRequest"

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(body=near_message(kind) | ANYTHING)
    def check(body: JSON) -> None:
        path = f"/serving-endpoints/gemini/v1/models/databricks-gemini-2-5-pro:{method}"
        said = {"contents": {"parts": {"text": "Hello"}}}
        for sent in (body, {**body, **said} if isinstance(body, dict) else said):
            answer = send(path, json.dumps(_clean(sent)).encode(), method="POST", query={"alt": "sse"})
            assert answer.status in (200, 400)

    check()


def _clean(value: JSON) -> JSON:
    """Without what ``json.dumps`` writes and JSON does not have: NaN, infinity, lone surrogates."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return {_clean(k): _clean(v) for k, v in value.items()} if isinstance(value, dict) else value
