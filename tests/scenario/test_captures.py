"""Placeholders of named groups, facets about the course of a conversation, and shares."""

from collections.abc import Sequence

import pytest

from emulator.core.clock import EPOCH
from emulator.core.requests import ChatRequest, Message, ToolCall
from emulator.scenario.captures import find_captures, list_groups
from emulator.scenario.conditions import When
from emulator.scenario.load import load_text
from emulator.scenario.matching import RequestAttributes, RuleMatcher, compile_rules
from emulator.scenario.placeholders import fill
from emulator.storage.memory import MemoryState
from tests.scenario.calls import CHAT, COMPLETION, EMBEDDING, find_match, rules, vary
from tests.scenario.texts import rows_of

ASKED = vary(
    CHAT,
    request=ChatRequest(messages=(Message(role="user", text="What's the weather in Köln, on 2026-11-23?"),)),
    headers={"x-team": "search-7", "authorization": "Bearer dapi-secret"},
)


@pytest.mark.covers("language/placeholders", "match.name", case="a group of the prompt")
@pytest.mark.covers("language/placeholders", "prompt.words[0]", case="words")
@pytest.mark.covers("language/placeholders", "turn", case="words")
@pytest.mark.parametrize(
    ("when", "text", "said"),
    [
        pytest.param({"prompt": {"regex": r"in (?P<city>\w+)"}}, "{match.city}!", "Köln!", id="a group of the prompt"),
        pytest.param(
            {"prompt": {"regex": r"IN (?P<city>\w+)", "ignore_case": True}}, "{match.city}", "Köln", id="without case"
        ),
        pytest.param(
            {"header.x-team": {"regex": r"-(?P<n>\d)"}, "prompt": {"regex": r"(?P<day>\d+)\?"}},
            "{match.n} {match.day}",
            "7 23",
            id="groups of two fields",
        ),
        pytest.param(
            {"any": [{"prompt": {"regex": "(?P<a>zzz)"}}, {"prompt": {"regex": "(?P<b>weather)"}}]},
            "{match.a}|{match.b}",
            "|weather",
            id="of the item that holds",
        ),
        pytest.param({"prompt": {"regex": "(?P<a>x)?weather"}}, "[{match.a}]", "[]", id="a group without text"),
        pytest.param(
            {"header.authorization": {"regex": "(?P<key>dapi.*)"}}, "{match.key}", "", id="no credential is captured"
        ),
        pytest.param(
            {}, "{prompt.words[0]} {prompt.words[4]} {prompt.words[6]} {turn}", "What's Köln 2026-11-23 1", id="words"
        ),
        pytest.param({}, "[{prompt.words[99]}]", "[]", id="a word there is not"),
    ],
)
def test_placeholder(when: dict[str, object], text: str, said: str) -> None:
    condition = When.model_validate(when)
    assert fill(text, ASKED, b"key", EPOCH, captures=lambda: find_captures(condition, ASKED)) == said


def test_groups_of_a_batch_are_those_of_the_first_input_that_matches() -> None:
    when = When.model_validate({"prompt": {"regex": "^(?P<word>s.*)"}})
    assert find_captures(when, EMBEDDING) == {"word": "second"}
    assert list_groups(when) == ["word"]


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        pytest.param(
            "{template: true, text: 'in {match.cty}'}",
            "a.yaml:3:3: rules[0]: no group for the placeholder {match.cty}; did you mean {match.city}?",
            id="another name",
        ),
        pytest.param(
            "{template: true, text: '{match.day}'}",
            "a.yaml:3:3: rules[0]: no group for the placeholder {match.day}; write (?P<day>…) in a regex of `when`",
            id="no such group",
        ),
    ],
)
def test_a_group_that_no_pattern_has_is_a_mistake(reply: str, row: str) -> None:
    text = f"version: 1\nrules:\n- {{name: r, when: {{prompt: {{regex: '(?P<city>a)'}}}}, reply: {reply}}}\n"
    assert rows_of(text) == [row]
    assert rows_of(text.replace("reply:", "sequence: [{reply:").replace("}}\n", "}}]}\n")) == [row]


CALLED = Message(role="assistant", tool_calls=(ToolCall(name="search", arguments="{}", id="c"),))
USER, TOOL, SYSTEM = Message(role="user", text="Hi"), Message(role="tool", text="22"), Message(role="system", text="x")


def chat(*messages: Message) -> RequestAttributes:
    return vary(CHAT, request=ChatRequest(messages=messages))


@pytest.mark.covers("language/facets", "turn", case="a system message is no turn")
@pytest.mark.covers("language/facets", "tool_called", case="anywhere in it")
@pytest.mark.parametrize(
    ("when", "call", "holds"),
    [
        pytest.param("turn: 1", chat(SYSTEM, USER, CALLED, TOOL), True, id="a system message is no turn"),
        pytest.param(
            "turn: 2", chat(USER, CALLED, TOOL, Message(role="assistant"), USER), True, id="tools are no turn"
        ),
        pytest.param("turn: {above: 1}", chat(USER), False, id="bounds"),
        pytest.param("turn: 1", COMPLETION, False, id="a completion has none"),
        pytest.param("tool_called: search", chat(USER, CALLED, TOOL, USER), True, id="anywhere in it"),
        pytest.param("tool_called: [find, 'sea*']", chat(USER, CALLED), True, id="a glob"),
        pytest.param("tool_called: '*'", CHAT, False, id="offered is not called"),
        pytest.param("not: {tool_called: search}", CHAT, True, id="none"),
    ],
)
async def test_course_of_a_conversation(when: str, call: RequestAttributes, holds: bool) -> None:
    matcher = rules(f"- {{name: r, when: {{{when}}}, pass: true}}")
    match = await find_match(matcher, call, MemoryState().count_now)
    assert (match.rule is not None) is holds


async def take(matcher: RuleMatcher, calls: Sequence[RequestAttributes]) -> str:
    count = MemoryState().count_now
    return "".join(["x" if (await find_match(matcher, call, count)).rule else "." for call in calls])


def asks(*names: int, session: str = "") -> list[RequestAttributes]:
    return [vary(CHAT, fingerprint=b"%d" % name, session=session, principal=f"p{name % 2}") for name in names]


SHARE = "- {{name: r, times: {{share: {{of: 10{}}}{}}}, pass: true}}"


@pytest.mark.covers("language/times", "share")
async def test_exactly_one_of_ten_new_requests() -> None:
    matcher = rules(SHARE.format("", ""))
    first = await take(matcher, asks(*range(100)))
    groups = [first[start : start + 10] for start in range(0, 100, 10)]
    assert [group.count("x") for group in groups] == [1] * 10
    assert len(set(groups)) > 3  # the place is drawn
    assert await take(matcher, asks(*range(100))) == first  # a repeat keeps its fate
    whole = await take(rules(SHARE.format("", "")), asks(*range(110)))
    assert await take(matcher, asks(*range(100, 110))) == whole[100:]
    assert await take(matcher, asks(*range(100), session="other")) == first  # sessions count apart
    assert await take(rules(SHARE.format(", salt: x", "")), asks(*range(100))) != first


async def test_share_begins_anew_for_a_session_that_has_ended() -> None:
    matcher = rules(SHARE.format("", ""))
    first = await take(matcher, asks(*range(15), session="a"))
    assert await take(matcher, asks(*range(15), session="b")) == first
    matcher.forget("a")
    assert await take(matcher, asks(*range(50, 65), session="a")) == first
    assert await take(matcher, asks(*range(15), session="b")) == first


async def test_share_of_each_principal() -> None:
    taken = await take(rules(SHARE.format("", ", per: principal")), asks(*range(40)))
    assert [taken[0::2][:10].count("x"), taken[1::2][:10].count("x"), taken.count("x")] == [1, 1, 4]


async def test_share_over_processes_is_by_hash() -> None:
    loaded = load_text("version: 1\nrules:\n" + SHARE.format("", "")).scenario
    several = [compile_rules(loaded, by_hash=True) for _ in range(2)]
    calls = asks(*range(400))
    first = await take(several[0], calls)
    assert await take(several[1], calls[::-1]) == first[::-1]  # in whatever order, on whatever replica
    assert 20 < first.count("x") < 60
