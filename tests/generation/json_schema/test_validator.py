"""The evaluator, keyword by keyword where dialects or numbers make it delicate."""

import pytest

from emulator.generation.json_schema import is_instance
from tests.untyped_json import JSON

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        pytest.param({"type": "integer"}, 1.0, True, id="1.0 is an integer"),
        pytest.param({**DRAFT_4, "type": "integer"}, 1.0, False, id="but not in draft 4"),
        pytest.param({"type": "number"}, True, False, id="true is no number"),
        pytest.param({"enum": [1]}, True, False, id="true is not 1"),
        pytest.param({"const": 1}, 1.0, True, id="1.0 is 1"),
        pytest.param({"const": {"a": [1, 2]}}, {"a": [2, 1]}, False, id="the order of items counts"),
        pytest.param({"multipleOf": 0.01}, 19.99, True, id="cents are exact"),
        pytest.param({"multipleOf": 0.01}, 19.999, False, id="less than a cent"),
        pytest.param({"multipleOf": 1e-8}, 12391239123, True, id="many digits"),
        pytest.param({"uniqueItems": True}, [1, True, "1", [1]], True, id="alike only at first sight"),
        pytest.param({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False, id="equal objects"),
        pytest.param({"maxLength": 1}, "💩", True, id="a character outside the first plane is one"),
        pytest.param({"pattern": "\\d"}, "٣", False, id="digits are ASCII"),
        pytest.param({"pattern": "^\\S+$"}, "a\u00a0b", False, id="a no-break space is a space"),
        pytest.param({"pattern": "a$"}, "a\n", False, id="the end is the very end"),
        pytest.param({"minimum": 1, "exclusiveMinimum": True}, 1, False, id="the draft-4 form without a draft"),
        pytest.param(
            {**DRAFT_7, "$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {}}},
            "abc",
            True,
            id="siblings of a reference up to draft 7",
        ),
        pytest.param(
            {"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {}}}, "abc", False, id="siblings of a reference since"
        ),
        pytest.param(
            {**DRAFT_7, "items": [{"type": "null"}], "additionalItems": False}, [None, 1], False, id="one item too many"
        ),
        pytest.param({"prefixItems": [True], "items": False}, [1, 2], False, id="the same in 2020-12"),
        pytest.param({"contains": {"const": 1}, "minContains": 0}, [], True, id="contains none"),
        pytest.param({"if": {"minimum": 5}, "else": {"const": 1}}, 3, False, id="else without then"),
        pytest.param({"dependencies": {"a": ["b"]}}, {"a": 1}, False, id="dependencies of old"),
        pytest.param(
            {
                "anyOf": [{"properties": {"a": True}}, {"properties": {"b": True}, "required": ["b"]}],
                "unevaluatedProperties": False,
            },
            {"a": 1, "b": 2},
            True,
            id="both branches evaluate",
        ),
        pytest.param(
            {
                "anyOf": [{"properties": {"a": True}}, {"properties": {"b": True}, "required": ["b", "c"]}],
                "unevaluatedProperties": False,
            },
            {"a": 1, "b": 2},
            False,
            id="a branch that fails does not",
        ),
        pytest.param(
            {"contains": {"type": "string"}, "unevaluatedItems": False}, ["a", 1], False, id="items not contained"
        ),
    ],
)
def test_evaluator(schema: JSON, value: JSON, valid: bool) -> None:
    assert is_instance(schema, value) == valid


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("date", ["2024-02-29"], ["2023-02-29", "2024-2-9", "24-01-01"]),
        ("time", ["23:59:60Z", "08:30:06.283185+01:00"], ["08:30:06", "22:59:60Z", "24:00:00Z"]),
        ("date-time", ["1990-12-31T15:59:60-08:00", "1963-06-19t08:30:06z"], ["1963-06-19 08:30:06Z", "1963-06-19"]),
        ("duration", ["P4DT12H30M5S", "P2W", "PT36H"], ["P", "PT", "P1Y2W", "4D", "P1Y2D"]),
        ("email", ["a@b.cc", '"joe bloggs"@example.com', "a@[127.0.0.1]"], ["a", "@b.c", ".a@b.c", "a@b@c"]),
        ("hostname", ["www.example.com", "a1"], ["-a.com", "a_b", "", "a" * 64]),
        ("ipv4", ["192.168.0.1"], ["256.1.1.1", "1.1.1", "01.1.1.1"]),
        ("ipv6", ["::1", "fe80::1:2"], ["12345::", "1::1::1", "fe80::1%eth0"]),
        ("uri", ["http://a.b/c?d#e", "urn:x:y", "mailto:a@b.c"], ["//a/b", "a b:c", "http:// x", "http://a[b"]),
        ("uri-reference", ["/a/b", "#f", ""], ["\\\\a", "a b"]),
        ("uuid", ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380"]),
        ("uri-template", ["http://a/{b}/{c:3}"], ["http://a/{b"]),
        ("json-pointer", ["", "/a~0b/~1"], ["a", "/~2"]),
        ("relative-json-pointer", ["1", "0/a", "2#"], ["/a", "01"]),
        ("regex", ["^a+(b|c)$"], ["^(a", "a**)"]),
        ("unheard-of", ["anything"], []),
    ],
)
def test_format(name: str, valid: list[str], invalid: list[str]) -> None:
    assert [text for text in valid if not is_instance({"format": name}, text)] == []
    assert [text for text in invalid if is_instance({"format": name}, text)] == []
