"""Forms of ``response_format``: enforced and ignored."""

import re

import pytest

from emulator.core.requests import ChatRequest
from emulator.core.rng import derive_key
from emulator.generation.segments import plan_parts
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, LATEST, make_server

_FLAT = {"type": "json_schema", "json_schema": {"name": "s", "type": "object", "properties": {"a": {"const": 1}}}}
_TAG = {"begin": "<a>", "content": {"type": "const_string", "value": "x"}, "end": "</a>"}
_ANY: JSON = {"type": "any_text"}


def say(value: JSON, release: str = "latest") -> str:
    """Return the response of a request with this format."""
    server = make_server(release)
    call = server.call({**BASE, "max_tokens": 200, "response_format": value})
    assert isinstance(call.request, ChatRequest)
    parts = plan_parts(
        call.request,
        call.request.prompt or "",
        derive_key(bytes(16), "a"),
        server.service.tokenizer(call.deployment),
        None,
    )
    return "".join(token for part in parts for token in part.tokens)


@pytest.mark.covers("openvino/fields of 2026.3", "formats that are followed")
@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        pytest.param({"type": "const_string", "value": "Hello World!"}, "Hello World!", id="a fixed text"),
        pytest.param({"type": "const_string", "value": "1+1 (two)?"}, re.escape("1+1 (two)?"), id="signs"),
        pytest.param({"type": "regex", "pattern": "[0-9]{3}-(a|b)"}, "[0-9]{3}-(a|b)", id="a pattern"),
        pytest.param(_FLAT | {"json_schema": {"const": 7}}, "7", id="a flat schema"),
        pytest.param(
            {"type": "json_schema", "json_schema": {"name": "s", "schema": {"const": 7}}}, "7", id="a nested schema"
        ),
        pytest.param({"type": "tag", **_TAG}, "<a>x</a>", id="a tag"),
        pytest.param(_TAG, "<a>x</a>", id="a tag without a type"),
        pytest.param({"type": "tag", **_TAG, "end": ["!", "?"]}, "<a>x!", id="a tag with several ends"),
        pytest.param({"type": "tag", **_TAG, "content": _ANY}, "<a>[A-Z][a-z ]+</a>", id="a tag around any text"),
        pytest.param(
            {"type": "tag", **_TAG, "content": {"type": "json_schema", "json_schema": {"const": 7}}},
            "<a>7</a>",
            id="a tag around a schema",
        ),
        pytest.param(
            {"type": "triggered_tags", "triggers": ["<a"], "tags": [_TAG], "at_least_one": True},
            "<a>x</a>",
            id="tags of which there is one",
        ),
        pytest.param({"type": "tags_with_separator", "tags": [_TAG], "separator": ","}, "<a>x</a>", id="tags in a row"),
        pytest.param(
            {
                "type": "sequence",
                "elements": [{"type": "const_string", "value": "a."}, {"type": "regex", "pattern": "b|c"}],
            },
            "a\\.(b|c)",
            id="one after the other",
        ),
        pytest.param(
            {"type": "sequence", "elements": [{"type": "regex", "pattern": "b|c"}, {"type": "regex", "pattern": "d+"}]},
            "(b|c)d+",
            id="two patterns",
        ),
        pytest.param(
            {
                "type": "or",
                "elements": [{"type": "const_string", "value": "a"}, {"type": "const_string", "value": "b"}],
            },
            "a|b",
            id="one or the other",
        ),
    ],
)
def test_supported_formats_are_enforced(value: JSON, pattern: str) -> None:
    for release in ("2025.4", "2026.3"):
        assert re.fullmatch(pattern, say(value, release)), say(value, release)


_FREE = say(None)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"type": "text"}, id="text"),
        pytest.param(_ANY, id="any text"),
        pytest.param({}, id="nothing"),
        pytest.param({"type": "nothing of the kind"}, id="another kind"),
        pytest.param({"type": "regex", "pattern": "("}, id="a pattern that is none"),
        pytest.param({"type": "regex"}, id="no pattern"),
        pytest.param({"type": "const_string", "value": 1}, id="a number as text"),
        pytest.param({"type": "json_schema"}, id="no schema"),
        pytest.param({"type": "tag", "begin": "<a>", "content": 1, "end": "</a>"}, id="a tag around a number"),
        pytest.param({"type": "triggered_tags", "triggers": ["<a"], "tags": [_TAG]}, id="tags that need not be"),
        pytest.param({"type": "triggered_tags", "triggers": ["<a"], "tags": []}, id="no tags"),
        pytest.param({"type": "sequence", "elements": []}, id="an empty sequence"),
        pytest.param({"type": "sequence", "elements": [_FLAT, _FLAT]}, id="two schemas in a row"),
    ],
)
def test_unsupported_formats_are_not_enforced(value: JSON) -> None:
    assert say(value) == _FREE


def test_flat_schema_is_json_schema_format() -> None:
    call = LATEST.call({**BASE, "response_format": _FLAT})
    assert isinstance(call.request, ChatRequest)
    assert (call.request.format, call.request.schema) == ("json_schema", _FLAT["json_schema"])
