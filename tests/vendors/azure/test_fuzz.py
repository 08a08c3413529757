"""No body brings the vendor down: it becomes a call or the vendor's own refusal."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.core.json import dump_json
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import VERSION, Refused, send

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
WORDS = st.sampled_from(["user", "tool", "assistant", "text", "image_url", "function", "json_schema", "f", "auto"])
KEYS = st.sampled_from(
    [
        *("messages", "role", "content", "type", "text", "image_url", "url", "tool_calls", "function", "name", "input"),
        *("arguments", "parameters", "tools", "tool_choice", "response_format", "json_schema", "schema", "stop", "n"),
        *(
            "max_tokens",
            "temperature",
            "seed",
            "stream",
            "prompt",
            "model",
            "dimensions",
            "encoding_format",
            "logprobs",
        ),
        *(
            "stream_options",
            "logit_bias",
            "top_p",
            "modalities",
            "input_type",
            "ID",
            "tool_call_id",
            "detail",
            "logprobs",
        ),
    ]
)
NESTED = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)
BODIES = VALUES | NESTED | st.fixed_dictionaries({"messages": NESTED}, optional={"tools": NESTED, "stop": NESTED})
ROUTES = st.sampled_from(["/chat/completions", "/completions", "/embeddings"])
PROFILES = st.sampled_from(["seed", "maas", "managed", "foundry", "aoai", "error_shape=docs"])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=BODIES, route=ROUTES, profile=PROFILES)
def test_any_json_gets_response_or_client_error(body: JSON, route: str, profile: str) -> None:
    scenario = profile if "=" in profile else f"profile={profile}"
    answer = send(dump_json(body), route + VERSION, scenario, {"extra-parameters": "pass-through"})
    if isinstance(answer, Refused):
        assert 400 <= answer.status < 500
        if answer.response.body != b"NOT FOUND":
            assert parse_json(answer.response.body)


@settings(max_examples=25, deadline=None)
@given(body=st.binary())
def test_any_bytes_get_client_error(body: bytes) -> None:
    answer = send(body, "/chat/completions" + VERSION)
    assert isinstance(answer, Refused)
    assert answer.status in (400, 422)


@pytest.mark.parametrize("profile", ["seed", "maas", "aoai"])
@pytest.mark.parametrize("depth", [500, 5000])
def test_deep_nesting_gets_client_error(profile: str, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for body in (
        deep,
        b'{"messages":' + deep + b"}",
        b'{"messages":[{"role":"user","content":"x"}],"tools":' + deep + b"}",
    ):
        answer = send(body, "/chat/completions" + VERSION, f"profile={profile}")
        assert isinstance(answer, Refused)
        assert 400 <= answer.status < 500
