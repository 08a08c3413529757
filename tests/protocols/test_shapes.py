"""The first member of a request that does not fit its shape."""

import pytest

from emulator.protocols.shapes import ANTHROPIC_SHAPES, OPENAI_MEMBERS, OPENAI_SHAPES, Tag, format_path
from tests.untyped_json import JSON

USER: JSON = {"role": "user", "content": "Hi"}
CALL: JSON = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
FUNCTION: JSON = {"type": "function", "name": "f"}


@pytest.mark.parametrize(
    ("item", "kind", "path"),
    [
        pytest.param(USER, None, "", id="a message"),
        pytest.param(None, None, "", id="null"),
        pytest.param("x", "type", "", id="a text"),
        pytest.param({"role": "user"}, "missing", "content", id="a field is missing"),
        pytest.param({**USER, "content": None}, "missing", "content", id="a field is null"),
        pytest.param({"type": "message", "content": "x"}, "missing", "role", id="the kind is missing"),
        pytest.param({**USER, "role": 5}, "type", "role", id="the kind is a number"),
        pytest.param({**USER, "role": "cook"}, "tag", "role", id="an unknown kind"),
        pytest.param({**USER, "odd": 1, "odder": 1}, "unknown", "odd", id="the first of two unknown"),
        pytest.param(
            {**USER, "content": [{"type": "input_text", "odd": 1}]}, "missing", "content[0].text", id="deeper"
        ),
        pytest.param({**USER, "status": "completed", "id": "msg_1"}, None, "", id="a field that needs another"),
        pytest.param({**USER, "status": "completed"}, "unknown", "status", id="the other is missing"),
        pytest.param({**USER, "id": "m"}, "prefix", "id", id="an id of another kind"),
        pytest.param({**USER, "id": "msg 1"}, "characters", "id", id="no id"),
        pytest.param({**USER, "id": f"msg_{'1' * 61}"}, "max", "id", id="too long"),
        pytest.param({**CALL, "call_id": ""}, "min", "call_id", id="too short"),
        pytest.param({**CALL, "name": "a b"}, "pattern", "name", id="against a pattern"),
    ],
)
def test_item(item: JSON, kind: str | None, path: str) -> None:
    found = OPENAI_SHAPES.find_misfit("item", item)
    assert (kind, path) == (None, "") if found is None else (found.kind, format_path(found.path)) == (kind, path)


def test_fields_of_other_kinds_may_be_null() -> None:
    assert OPENAI_SHAPES.find_misfit("tool", {**FUNCTION, "server_label": None}) is None
    found = OPENAI_SHAPES.find_misfit("tool", {**FUNCTION, "server_label": "x"})
    assert found is not None
    assert found.kind == "unknown"


@pytest.mark.parametrize(("value", "fits"), [(16, True), (16.0, True), (16.5, False), (True, False), ("16", False)])
def test_integer(value: JSON, fits: bool) -> None:
    assert (OPENAI_SHAPES.find_misfit("responses", {"max_output_tokens": value}) is None) is fits


def test_members_without_bounds() -> None:
    assert OPENAI_MEMBERS.find_misfit("item", {**USER, "id": "m"}) is None
    found = OPENAI_MEMBERS.find_misfit("item", {**USER, "id": "m", "odd": 1})
    assert found is not None
    assert found.kind == "unknown"


def test_kinds_are_marked_in_path() -> None:
    body: JSON = {"model": "m", "max_tokens": 1, "messages": [USER], "thinking": {"type": "adaptive", "odd": 1}}
    found = ANTHROPIC_SHAPES.find_misfit("messages", body)
    assert found is not None
    assert found.path == ("thinking", Tag("adaptive"), "odd")
    assert format_path(found.path) == "thinking.odd"


def test_nested_filters_end() -> None:
    inner: JSON = {"type": "eq", "key": "k", "value": 1}
    for _ in range(200):
        inner = {"type": "and", "filters": [inner]}
    tool = {"type": "file_search", "vector_store_ids": ["v"], "filters": inner}
    assert OPENAI_SHAPES.find_misfit("tool", tool) is None
