"""Reading a plan: its texts, its tool calls, its totals."""

from emulator.core.plan import NOTHING_USED, Choice, Logprob, Plan, Segment, Tokens, Usage

CHOICE = Choice(
    Tokens(("hm", "m", "Hel", "", "lo", '{"city"', ':"Ulm"}', "{}", " bye"), tuple(range(9))),
    due=[0.1] * 9,
    finish_reason="tool_calls",
    segments=(
        Segment("reasoning", 0, 2),
        Segment("text", 2, 5),
        Segment("tool_call", 5, 7, "weather"),
        Segment("tool_call", 7, 8, "time"),
        Segment("text", 8, 9),
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


def test_cut_keeps_first_tokens_and_logprobs() -> None:
    whole = Choice(CHOICE.sequence, CHOICE.due, "stop", CHOICE.segments, tuple([Logprob("x", -0.5)] * 9))
    cut = whole.cut(3)
    assert (cut.tokens, cut.ids, list(cut.due)) == (("hm", "m", "Hel"), (0, 1, 2), [0.1] * 3)
    assert cut.segments == (Segment("reasoning", 0, 2), Segment("text", 2, 3))
    assert cut.logprobs is not None
    assert len(cut.logprobs) == 3


def test_stopped_plan_ends_with_partial_tokens() -> None:
    spans = (Segment("text", 0, 3),)
    long = Choice(Tokens(("a", "b", "c"), (1, 2, 3)), (1.0, 2.0, 3.0), "length", spans)
    short = Choice(Tokens(("a",), (1,)), (1.0,), "length", (Segment("text", 0, 1),))
    plan = Plan(b"", 0.0, (long, short), usage=Usage(prompt_tokens=2, completion_tokens=4), due=3.0).stop(1.5)
    first, second = plan.choices
    assert (first.tokens, tuple(first.due), first.finish_reason) == (("a", "b"), (1.0, 1.5), "stop")
    assert second is short
    assert (plan.usage.completion_tokens, plan.due) == (3, 1.5)
