"""Canonical requests: what does not count when a recorded request is looked for."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from emulator.recording.canonical import PARTS, canonicalize, simplify_text
from tests.untyped_json import JSON

TOOLS: dict[str, Callable[[str], JSON]] = {
    "chat": lambda name: {"type": "function", "function": {"name": name}},
    "Responses": lambda name: {"type": "function", "name": name},
    "Responses, of the service": lambda name: {"type": name},
    "Anthropic": lambda name: {"name": name, "input_schema": {"type": "object"}},
}


def key(body: JSON) -> str:
    return canonicalize("POST /x", "", json.dumps(body).encode()).key(PARTS)


@pytest.mark.parametrize("form", TOOLS)
def test_order_of_tools_does_not_count(form: str) -> None:
    one, two = (TOOLS[form](name) for name in "ab")
    assert key({"tools": [one, two]}) == key({"tools": [two, one]})
    assert key({"tools": [one, two]}) != key({"tools": [one]})


def test_order_of_declarations_does_not_count() -> None:
    """Gemini has them a level deeper."""
    one, two = ({"tools": [{"functionDeclarations": [{"name": name} for name in names]}]} for names in ("ab", "ba"))
    assert key(one) == key(two)


def test_order_inside_a_schema_counts() -> None:
    one, two = ({"tools": [{"name": "a", "input_schema": {"enum": [*names]}}]} for names in ("xy", "yx"))
    assert key(one) != key(two)


DAYS = datetime(2026, 11, 27, 10, 15, 30, 123456, UTC), datetime(2025, 1, 2, 9, 5, 7, 654321, UTC)


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S.%f%z", "%Y/%m/%d", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y"),
        *("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S UTC %Y", "%A, %B %d, %Y", "%d %B %Y", "%d. %B %Y", "%d-%b-%Y"),
        *("%A, %d %B", "%B %d, %Y at %I:%M %p", "%a, %d %b %Y %H:%M:%S GMT", "%Y年%m月%d日", "%Y%m%dT%H%M%SZ"),
        *("%H:%M:%S", "%H:%M:%S.%f", "1764%M%H%S"),
    ],
)
def test_dates_and_times_do_not_count(form: str) -> None:
    one, two = (simplify_text(f"It is {day.strftime(form)} here.") for day in DAYS)
    assert one == two


@pytest.mark.parametrize(
    "text",
    [
        *("May 5 was fine", "3/4 of 10", "version 2.10.3", "call back", "file-system", "item-by-item"),
        *("conv_layer_3x3_stride", "batch_size_32_epochs", "file_report_2024.txt", "ws-client-v13", "vs_code_1_85_2"),
        *("fc_layer12345678901234567890_weights", "item-1234567890123456-7", "file_configurationOfTheService"),
    ],
)
def test_words_and_numbers_count(text: str) -> None:
    assert simplify_text(text) == text


@pytest.mark.parametrize(
    "ident",
    [
        *("call_AbCd1234efgh", "msg_abc123def456", "file-7vKp2nQxTfLwZr9BcYh4Md", "file-7vKp2nQxTfLwZr9BcYh4MdEs"),
        *("file-0123456789abcdef0123456789abcdef", "item_B7kQ2mXv9TzLpWc4RnYd1", "fc_68abc123def4567890"),
        *(f"{name}_{'0123456789ab' * 4}" for name in ("batch", "conv", "fc", "rs", "vs", "ws", "resp", "msg")),
    ],
)
def test_ids_do_not_count(ident: str) -> None:
    assert simplify_text(f"See {ident}.") == "See <id>."
    assert simplify_text(f"See {ident} - or '{ident}'-") == "See <id> - or '<id>'-"
