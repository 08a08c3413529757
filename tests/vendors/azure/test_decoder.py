"""Bodies that are no JSON, and how JSON is read."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, HELLO, Refused, accept, chat, refuse, send


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{bad", id="broken"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"messages": NaN}', id="NaN"),
        pytest.param(b'{"a": 1} x', id="text after it"),
        pytest.param(b'{"a": "\xff"}', id="no UTF-8"),
        pytest.param(b'{"a": "\\ud800"}', id="half a character"),
        pytest.param(b"[" * 100_000, id="nested without end"),
    ],
)
@pytest.mark.parametrize("profile", ["seed", "foundry", "aoai"])
def test_invalid_json_returns_400(body: bytes, profile: str) -> None:
    refused = refuse(body, CHAT, f"profile={profile}")
    assert refused.status == 400
    assert refused.json()["error"]


BRACES = "Expecting property name enclosed in double quotes"


@pytest.mark.covers("azure/violations", "json_invalid")
@pytest.mark.parametrize("profile", ["maas", "managed"])
@pytest.mark.parametrize(
    ("body", "offset", "words"),
    [
        pytest.param(b"{bad", 1, BRACES, id="broken"),
        pytest.param(b'{"messages": [', 14, "Expecting value", id="cut off"),
        pytest.param(b'{"a": 1} x', 9, "Extra data", id="text after it"),
        pytest.param(b'{"a" 1}', 5, "Expecting ':' delimiter", id="no colon"),
        pytest.param(b'{"a": 1,\n }', 10, BRACES, id="a comma before a brace"),
        pytest.param(b"[1, ]", 4, "Expecting value", id="a comma before a bracket"),
        pytest.param(b'{"a": 1,\n"b": NaN}', 14, "Expecting value", id="NaN in the second line"),
        pytest.param(b'"abc', 0, "Unterminated string starting at", id="an open string"),
    ],
)
def test_container_locates_invalid_json(body: bytes, offset: int, words: str, profile: str) -> None:
    refused = refuse(body, CHAT, f"profile={profile}")
    detail = {"type": "json_invalid", "loc": ["body", offset], "msg": "JSON decode error", "input": {}}
    error = {"code": "Invalid input", "status": 422, "message": "invalid input error"}
    expected = {"error": {**error, "details": [{**detail, "ctx": {"error": words}}]}}
    assert (refused.status, refused.json()) == (422, expected)


@pytest.mark.covers("azure/violations", "empty body")
@pytest.mark.parametrize("profile", ["maas", "managed"])
def test_container_reports_missing_body(profile: str) -> None:
    refused = refuse(b"", CHAT, f"profile={profile}")
    details = [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}]
    assert (refused.status, refused.json()["error"]["details"]) == (422, details)


@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b"[" * 100_000], ids=["no UTF-8", "nested without end"])
def test_container_refuses_undecodable_body(body: bytes) -> None:
    refused = refuse(body, CHAT, "profile=maas")
    assert (refused.status, refused.json()) == (400, {"detail": "There was an error parsing the body"})


@pytest.mark.covers("azure/headers of a request", "Content-Type")
def test_container_reads_body_without_json_type_as_text() -> None:
    refused = refuse(b"{bad", CHAT, "profile=maas", {"Content-Type": "text/plain"})
    (detail,) = refused.json()["error"]["details"]
    assert (refused.status, detail["type"], detail["input"]) == (422, "model_attributes_type", "{bad")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param("application/json", 200, id="JSON"),
        pytest.param("application/json; charset=utf-8", 200, id="JSON with its charset"),
        pytest.param("Application/JSON", 200, id="in capitals"),
        pytest.param("application/merge-patch+json", 200, id="a kind of JSON"),
        pytest.param("text/plain", 422, id="text"),
        pytest.param("application/x-www-form-urlencoded", 422, id="a form"),
    ],
)
def test_content_type(kind: str, status: int) -> None:
    answer = send(HELLO, headers={"Content-Type": kind})
    if isinstance(answer, Refused):
        assert answer.json()["detail"]["loc"] == ["body"]
    assert (answer.status if isinstance(answer, Refused) else 200) == status


@pytest.mark.covers("azure/fields of a chat", "numbers in strings")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("temperature", "0.5", id="a number in a string"),
        pytest.param("max_tokens", "5", id="an integer in a string"),
        pytest.param("stream", "true", id="a boolean in a string"),
        pytest.param("stream", 1, id="one for true"),
    ],
)
def test_containers_coerce_strings_to_numbers(field: str, value: JSON) -> None:
    assert accept(chat(**{field: value}), scenario="profile=maas")
    assert refuse(chat(**{field: value})).status == 422


@pytest.mark.parametrize("good", [0, 19, 20, 3_000, 59_999])
def test_first_invalid_item_of_long_list_is_named(good: int) -> None:
    values: list[JSON] = ["x"] * good + [{}] * (60_000 - good)
    listed = refuse(chat(stop=values), CHAT, "profile=maas").json()["error"]["details"]
    assert [each["loc"][-1] for each in listed[:2]] == ["str", good]
    assert len(listed) <= 30_000


def test_long_valid_list_is_accepted() -> None:
    assert accept(chat(messages=[{"role": "user", "content": "a"}] * 5_000))
