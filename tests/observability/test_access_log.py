"""Tests of the access log."""

import io
import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from emulator.core.text import wants_colour
from emulator.journal.entry import JournalEntry
from emulator.observability.access_log import AccessLog, configure_logging
from tests.conftest import Start
from tests.handler.toy import TOY

RULES = "rules: [{name: greets, when: {prompt: Hello}, error: {kind: internal}}]\n"
MOMENT = datetime(2026, 1, 1, 12, 30, 15, 250_000, tzinfo=UTC).timestamp()


async def log(start: Start, *prompts: str, as_json: bool) -> list[str]:
    toy = await start(RULES, vendors=[TOY])
    stream = io.StringIO()
    access = AccessLog(as_json=as_json, stream=stream, colour=False, folds=True, now=lambda: MOMENT)
    toy.built.journal.listeners.append(access)
    for prompt in prompts:
        await toy.ask("toy", "/chat", {"prompt": prompt, "max": 3}, headers={"x-key": "k"})
    access.flush()
    return stream.getvalue().splitlines()


async def write(entry: JournalEntry, *, colour: bool = False) -> list[str]:
    stream = io.StringIO()
    access = AccessLog(as_json=False, stream=stream, colour=colour, folds=True, now=lambda: MOMENT)
    access(entry)
    access.flush()
    return stream.getvalue().splitlines()


def make_entry(**fields: object) -> JournalEntry:
    usual: dict[str, object] = {
        "id": "1",
        "time": 5.0,  # of the scenario's clock
        "vendor": "toy",
        "method": "POST",
        "path": "/chat",
        "status": 200,
        "duration": 0.9,
    }
    return JournalEntry(**(usual | fields))  # type: ignore[arg-type]  # tables of fields


async def test_text_log_lines_name_rule_or_nearest_rule(start: Start) -> None:
    matched, unmatched, below = await log(start, "Hello", "Bye", as_json=False)
    assert matched.startswith("12:30:15.250  400  POST  /chat  toy toy  default  0+0 tokens")
    assert matched.endswith("rule 'greets'  internal")
    assert "+3 tokens" in unmatched
    assert below.strip().startswith("no rule matched. The nearest is 'greets': prompt does not hold")
    assert "Bye" not in unmatched + below


async def test_json_log_lines_name_rule_or_nearest_rule(start: Start) -> None:
    matched, unmatched = map(json.loads, await log(start, "Hello", "Bye", as_json=True))
    assert (matched["rule"], matched["error"], matched["status"]) == ("greets", "internal", 400)
    assert (matched["session"], matched["principal"], matched["stream"]) == ("", "default", False)
    assert "nearest_rule" not in matched
    assert unmatched["nearest_rule"].startswith("The nearest is 'greets'")
    assert (unmatched["completion_tokens"], unmatched["faults"]) == (3, [])


async def test_json_log_includes_refusal_hint(start: Start) -> None:
    toy = await start(vendors=[TOY])
    stream = io.StringIO()
    access = AccessLog(as_json=True, stream=stream)
    toy.built.journal.listeners.append(access)
    await toy.ask("toy", "/chatt", {}, headers={"x-key": "k"})
    access.flush()
    assert json.loads(stream.getvalue())["hint"] == "Toy has no such path; did you mean /chat?"


async def test_equal_unmatched_calls_are_explained_once(start: Start) -> None:
    lines = await log(start, "one", "two", "three", as_json=False)
    assert [("no rule matched" in line) for line in lines] == [False, True, False, False]


@pytest.mark.covers("promises/first steps", "session, principal and stream in the log")
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({}, "12:30:15.250  200  POST  /chat  toy -  -  900.0 ms", id="the least there is"),
        pytest.param({"principal": "search"}, "toy -  search  900.0 ms", id="who asked"),
        pytest.param({"session": "a"}, "-  session a  900.0 ms", id="in which session"),
        pytest.param({"stream": True}, "-  stream  900.0 ms", id="whether it streamed"),
        pytest.param({"vendor": None, "status": 404}, "404  POST  /chat  front -", id="no vendor"),
        pytest.param({"deployment": "m", "prompt_tokens": 4}, "toy m  -  4+0 tokens", id="tokens"),
        pytest.param({"ttft": 0.25}, "ttft 250.0 ms  900.0 ms", id="time to first token"),
        pytest.param({"rule": "r", "faults": ("stall", "drop")}, "rule 'r'  faults stall, drop", id="rule and faults"),
        pytest.param({"error": "internal"}, "900.0 ms  internal", id="an error"),
        pytest.param({"client_left": True}, "900.0 ms  client left", id="a client that left"),
        pytest.param({"path": "/a\n\x1b[31mb"}, "/a\\n\\x1b[31mb", id="letters that move the cursor"),
    ],
)
async def test_text_log_line_fields(fields: dict[str, object], says: str) -> None:
    (line,) = await write(make_entry(**fields))
    assert says in line


@pytest.mark.parametrize(
    "letter", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\udcff"]
)
@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
@pytest.mark.parametrize("field", ["path", "deployment", "principal", "hint", "method", "error", "rule"])
async def test_control_characters_are_escaped_in_log(field: str, as_json: bool, letter: str) -> None:
    stream = io.StringIO()
    access = AccessLog(as_json=as_json, stream=stream, colour=False, folds=True)
    access(make_entry(**{field: f"a{letter}b"}))
    access.flush()
    written = stream.getvalue()
    assert letter not in written.rstrip("\n").replace("\n" + " " * 14, "")
    if as_json:
        assert json.loads(written)[field] == f"a{letter}b"


@pytest.mark.parametrize("letter", ["\r", "\x1b", "\x85", "\x9b", "\u2028", "\udcff"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_log_messages_cannot_forge_lines(form: str, letter: str) -> None:
    stream = io.StringIO()
    logger = logging.getLogger("emulator")
    before = [*logger.handlers], logger.propagate, logger.level
    others = {name: [*logging.getLogger(name).handlers] for name in ("aiohttp", "asyncio")}
    try:
        configure_logging("info", form, stream)
        logger.info("asked for %s", f"/a{letter}b\n09:00:00  200  GET  /forged")
        logging.getLogger("asyncio").error("two\nlines")
    finally:
        logger.handlers[:], logger.propagate, logger.level = before
        for name, handlers in others.items():
            logging.getLogger(name).handlers[:] = handlers
    written = stream.getvalue()
    assert letter not in written
    lines = written.splitlines()
    if form == "json":
        assert [json.loads(line)["level"] for line in lines] == ["info", "error"]
    else:
        assert [line[:5] for line in lines] == ["INFO ", "  09:", "ERROR", "  lin"]


@pytest.mark.covers("promises/journal", "the same in the log")
async def test_refusal_hint_is_on_next_line() -> None:
    hint = "limits[0] refuses: 400 output tokens asked, 60 of 4000 left, enough in 12.5 s"
    line, below = await write(make_entry(status=429, error="rate_limited", hint=hint))
    assert line.endswith("rate_limited")
    assert below == " " * 14 + hint


async def test_wrapping_preserves_hyphenated_names() -> None:
    _, *below = await write(make_entry(status=400, hint="there are " + "x-emulator-session " * 20))
    assert len(below) > 1
    assert {word for line in below for word in line.split()} == {"there", "are", "x-emulator-session"}


@pytest.mark.covers("promises/first steps", "120 columns")
async def test_log_lines_fit_120_columns() -> None:
    entry = make_entry(
        path="/long" * 50,
        deployment="deployment-" * 20,
        principal="principal-" * 20,
        session="s" * 64,
        stream=True,
        rule="A rule with a name " * 20,
        faults=("disconnect",) * 20,
        error="rate_limited",
        ttft=12345.678,
        hint="words " * 100 + "w" * 300,
    )
    lines = await write(entry)
    assert max(map(len, lines)) <= 120
    assert all(line.startswith(" " * 14) for line in lines[1:])
    assert "client left" not in "".join(lines)


@pytest.mark.parametrize(("status", "colour"), [(200, "32"), (404, "33"), (500, "31"), (0, "31")])
async def test_status_is_coloured_on_terminal(status: int, colour: str) -> None:
    (line,) = await write(make_entry(status=status), colour=True)
    assert f"\x1b[{colour}m{status}\x1b[0m" in line
    (plain,) = await write(make_entry(status=status))
    assert re.sub(r"\x1b\[\d+m", "", line) == plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.covers("promises/first steps", "colours on a terminal")
@pytest.mark.parametrize(
    ("stream", "environment", "colour"),
    [
        pytest.param(Terminal(), {}, True, id="a terminal"),
        pytest.param(io.StringIO(), {}, False, id="a file"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="a terminal, forbidden"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="an empty variable has no effect"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1"}, True, id="a file, asked for"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="both"),
    ],
)
def test_colour_follows_terminal_and_environment(
    stream: io.StringIO, environment: Mapping[str, str], colour: bool
) -> None:
    assert wants_colour(stream, environment) is colour


async def test_log_without_terminal_writes_one_line_per_call(start: Start) -> None:
    toy = await start(RULES, vendors=[TOY])
    stream = io.StringIO()
    access = AccessLog(as_json=False, stream=stream, now=lambda: MOMENT)
    toy.built.journal.listeners.append(access)
    await toy.ask("toy", "/chat", {"prompt": "Bye", "max": 3}, headers={"x-key": "k"})
    access(make_entry(path="/" + "a" * 47, hint="a hint " * 30, rule="b" * 60, faults=("truncate",) * 5))
    access.flush()
    unmatched, long = stream.getvalue().splitlines()
    assert unmatched.startswith("12:30:15.250  200  POST  /chat  toy toy  default")
    assert "  no rule matched. The nearest is 'greets'" in unmatched
    assert len(long) > 300
    assert long.endswith("a hint ")
