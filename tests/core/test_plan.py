"""Reading a plan: its texts, its tool calls, its totals."""

from emulator.core.plan import NOTHING_USED, Choice, Span, Usage, Words

CHOICE = Choice(
    Words(("hm", "m", "Hel", "", "lo", '{"city"', ':"Ulm"}', "{}", " bye"), tuple(range(9))),
    due=[0.1] * 9,
    finish_reason="tool_calls",
    spans=(
        Span("reasoning", 0, 2),
        Span("text", 2, 5),
        Span("tool_call", 5, 7, "weather"),
        Span("tool_call", 7, 8, "time"),
        Span("text", 8, 9),
    ),
)


def test_text_joins_all_spans_of_its_kind() -> None:
    assert CHOICE.text() == "Hello bye"
    assert CHOICE.text("reasoning") == "hmm"
    assert CHOICE.text("refusal") == ""


def test_tool_calls_keep_their_order() -> None:
    assert CHOICE.tool_calls == (("weather", '{"city":"Ulm"}'), ("time", "{}"))


def test_total_counts_reasoning_once() -> None:
    assert Usage(prompt_tokens=5, completion_tokens=7, reasoning_tokens=3).total_tokens == 12
    assert NOTHING_USED.total_tokens == 0
