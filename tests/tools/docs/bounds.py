"""The page on bounds, from the models that hold them."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from collections.abc import Iterator

from emulator.core.cost_limits import DEFAULT, CallBounds
from emulator.core.errors import LONGEST as ERROR_TEXT
from emulator.encoding.lark import LONGEST_GRAMMAR
from emulator.generation.tools import _MOST_MEMBERS, _MOST_NUMBERS, _MOST_TRIALS, _PROMPT
from emulator.scenario.outcomes import _MOST_FAULTS
from emulator.scenario.regex import LONGEST, MOST_STEPS
from emulator.scenario.yaml_reader import _DEEPEST
from emulator.vendors.openvino.rapidjson import DEEPEST

_SIZES = frozenset({"body", "decompressed", "text", "added"})
_TOLD = {
    "body": "413 or what the vendor says of a body that is too large",
    "decompressed": "the same",
    "values": "what the vendor says of a body that is no JSON",
    "text": "the same; a text takes 1, 2 or 4 bytes for each of its characters, as the widest of them needs",
    "messages": "the vendor's refusal of `messages`",
    "tools": "the vendor's refusal of `tools`",
    "inputs": "the vendor's refusal of its inputs; its own limit first where it has one",
    "answers": "the vendor's refusal of `n`",
    "tokens": "the vendor's refusal of `n`, or of the text that it shall repeat or tell the tokens of",
    "components": "the vendor's refusal of its inputs",
    "faults": "400, `application/problem+json`",
    "added": "an answer with as much of the fault as there is room for",
    "writes": "an answer whose last write has all the rest",
}
_HEAD = """\
# Bounds

An emulator that breaks on purpose must not break by accident: what a request may cost is bounded before it is done, and what takes long is
done beside the event loop, so that others are answered meanwhile. Whoever meets a bound reads a refusal in the vendor's own words: its own
where it has such a limit, else its usual envelope.

## One call

A scenario sets them: `bounds: {inputs: 10000, body: 128MiB}`. A vendor's own limit holds where it is lower.

| key | default | bounds | a client sees |
| --- | --- | --- | --- |
"""
_REST = f"""
## Fixed bounds

| of | bound | what is told |
| --- | --- | --- |
| a schema to meet | 6,000 steps, 64 KiB of JSON, 96 levels; reading a pattern counts, too | the vendor's refusal: no instance was found within the bound |
| a grammar of a custom tool | {LONGEST_GRAMMAR:,} characters, 500 rules, each read again only so often | the vendor's refusal: the grammar is not valid |
| levels of a body of JSON | some 900; OpenVINO: 100 from 2026.2 on, {DEEPEST:,} before | what the vendor says of a body that is no JSON, or is too deep |
| values of a prompt that a tool's parameters may take | the first {_PROMPT:,} characters of the prompt, {_MOST_MEMBERS} members of an enumeration, {_MOST_NUMBERS} numbers, {_MOST_TRIALS} parameters | values of our own |
| a reply once its placeholders are filled in | 8 bytes for each of `tokens`, 2 MiB by default, and no more than `text` | the vendor's internal error; the log names the rule |
| faults of one rule | {_MOST_FAULTS} | `emulator check` and `PUT` name the line |
| a body that is compressed and cannot be unpacked | | it is read as it stands, and the vendor refuses it |
| a text that an error repeats, a value of the request or a name in it | {ERROR_TEXT:,} characters | its beginning |
| a prompt | one beyond 1 MiB of text is taken to go on as it begins when its tokens are counted | |
| the headers `x-emulator-fault`, `-error`, `-ttft` together | 8,192 characters | 400, `application/problem+json` |
| outputs of a classic model | 524,288 values | 400 |
| a duration | a century (36,525 days) | `emulator check` and `PUT` name the line |
| a clock's scale | 0.000001 to 1,000,000 | the same |
| a deployment's dimensions | 65,536 | the same |
| a limit's amount | 10^15 | the same |
| a file of a scenario | 50,000 values and 8 MiB of text once aliases are written out, {_DEEPEST} levels | the same |
| a file of a scenario, or of an answer beside it | 16 MiB; all answers together 64 Mi characters | the same |
| credentials of a scenario | 1,000 | the same |
| mistakes of a scenario or a control request | the first 200 are told one by one | how many more there are |
| a control request that is no scenario | 10,000 values, 4 MiB of text | 413, `application/problem+json` |
| a regular expression | {LONGEST:,} characters, 2 MiB once it is compiled; no look-around, no back-reference | `emulator check` and `PUT` name the line |
| all regular expressions of a scenario or a control request | {MOST_STEPS:,} steps to read and compile them: a word some tens, `\\w+` 2,000, `\\w{{1,20}}` 27,000 | the same |
| a text that an expression is searched in | 2·10^9 steps: characters times what the expression takes (`\\w+`: a million characters) | it is searched up to there, and the log says so once for each expression |

A regular expression is searched in a time that grows with the text alone, and beside the event loop where that may be long. Headers that say
where an answer ends (`Content-Length`, `Transfer-Encoding`, `Connection` and the like) are nobody's to set: statuses without a body
(204, 304) have none, whatever bends the answer, and a connection that is kept is in step. Dates end with the year 9999, whatever a clock says.

What is remembered between calls is bounded as well: answers to repeated calls by what they weigh, patterns of schemas, machines and words by the
room they take, names that clients make up to the latest 10,000, labels of metrics to 2,000 a vendor (the rest is `_OTHER`), and what was found out
of a scenario goes with it. A process that is left running is full after an hour or so, and grows no more.

Others wait for each piece of work on the event loop: as a rule some milliseconds, up to 100 for a body of 300,000 members, which is read in one go,
and longer where a scenario has the journal keep far more than its usual 10,000 calls: 50,000 take 0.3 s to forget, or to be looked through for what
is garbage. Who closes a connection, or only its own side of it, before the answer begins has left, as with most servers.

## Attack it yourself

`python -m tests.tools.fuzz --seconds 600 --seed 1` starts an emulator of its own and bends every golden exchange in its structure and in its bytes,
over all vendors and profiles, with faults, limits and clocks drawn for each round. It looks for bugs of ours, connections out of step, answers
that take more than a second of work, and memory (from the 300th round on: by then what it remembers is nearly full)
and files that do not come back; what it finds is printed at once, kept in
`--findings FOLDER`, and makes it end with 1. The same seed sends the same requests: `--first 172 --rounds 1` sends those of one round again.

`python -m tests.tools.attack` sends everything that was ever made to stop it, and something giant in each place of each request: for every one it tells
how long health took at worst, how much memory grew, how it was answered, and whether the next call was right. `--only WORDS` sends some of
them, `--every` puts every giant in every place, which takes hours; `--worst 1` allows for a machine that is busy.
"""


def render() -> str:
    """The whole page."""
    return _HEAD + "".join(_tell()) + _REST


def _tell() -> Iterator[str]:
    for name, field in CallBounds.model_fields.items():
        default = getattr(DEFAULT, name)
        shown = f"{default // 1024**2} MiB" if name in _SIZES else f"{default:,}"
        yield f"| `{name}` | {shown} | {field.description} | {_TOLD[name]} |\n"
