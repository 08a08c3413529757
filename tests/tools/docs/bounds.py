"""The page on bounds, from the models that hold them."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from emulator.core.cost_limits import DEFAULT_BOUNDS, CallBounds
from emulator.core.errors import MAX_TEXT as ERROR_TEXT
from emulator.encoding.lark import MAX_GRAMMAR
from emulator.generation.tools import _MAX_MEMBERS, _MAX_NUMBERS, _MAX_TRIALS, _PROMPT
from emulator.scenario.outcomes import _MAX_FAULTS
from emulator.scenario.regex import MAX_PATTERN_LENGTH, MAX_STEPS
from emulator.scenario.yaml_reader import _MAX_DEPTH
from emulator.vendors.openvino.rapidjson import MAX_DEPTH

_SIZES = frozenset({"body", "decompressed", "text", "added"})
_RESPONSES = {
    "body": "413 or the vendor's error for a body that is too large",
    "decompressed": "the same",
    "values": "the vendor's error for invalid JSON",
    "text": "the same; a text takes 1, 2 or 4 bytes per character, as its widest character needs",
    "messages": "the vendor's error for `messages`",
    "tools": "the vendor's error for `tools`",
    "inputs": "the vendor's error for its inputs; the vendor's own limit applies first if it has one",
    "answers": "the vendor's error for `n`",
    "tokens": "the vendor's error for `n`, or for the prompt if the request asks for its text or its tokens",
    "components": "the vendor's error for its inputs",
    "faults": "400, `application/problem+json`",
    "added": "a response with as much of the fault as fits",
    "writes": "a response with all the rest in its last write",
}
_HEAD = """\
# Bounds

Read this page if the emulator refuses a large request, or if clients that you do not trust can reach it. The cost of every request is bounded, so that
no request can stop or block the emulator. Bounds are checked before the work is done. Long work runs in a separate thread, so that other requests are
answered in the meantime.

As a rule, a request that exceeds a bound gets an error in the vendor's format. If the vendor has such a limit, the error is the vendor's own. The
tables show the exceptions.

## One request

Set these bounds in a scenario: `bounds: {inputs: 10000, body: 128MiB}`. If the vendor's own limit is lower, the vendor's limit applies.

| key | default | bounds | response |
| --- | --- | --- | --- |
"""
_REST = f"""
## Fixed bounds

You cannot change these. Where the effect is *`emulator check` and `PUT`*, `emulator check` and `PUT /_emulator/scenario` both report the line of the
scenario.

| subject | bound | effect |
| --- | --- | --- |
| a JSON Schema to satisfy | 6,000 steps, 64 KiB of JSON, 96 levels; parsing a pattern counts, too | the vendor's error: no instance was found within the bound |
| a grammar of a custom tool | {MAX_GRAMMAR:,} characters, 500 rules, each parsed a bounded number of times | the vendor's error: the grammar is not valid |
| levels of a JSON body | some 900; Databricks: 150; TGI: 127 in the fields that it reads; MindIE: 10 (`max_json_depth`); OpenVINO: 100 from 2026.2 on, {MAX_DEPTH:,} before | the vendor's error for invalid or too deep JSON |
| values of a prompt that are used as arguments of a tool | the first {_PROMPT:,} characters of the prompt, {_MAX_MEMBERS} members of an enumeration, {_MAX_NUMBERS} numbers, {_MAX_TRIALS} parameters | generated values |
| a reply after its placeholders are filled in | 8 bytes for each of `tokens`, 2 MiB by default, and at most `text` | the vendor's internal error; the log names the rule |
| faults of one rule | {_MAX_FAULTS} | `emulator check` and `PUT` |
| a compressed body that cannot be decompressed | | it is parsed as it is, and the vendor refuses it |
| a value or a name of the request that an error message repeats | {ERROR_TEXT:,} characters | the message has its beginning |
| a prompt | 1 Mi characters; the token count of a longer one is extrapolated from its beginning | |
| the headers `x-emulator-fault`, `-error`, `-ttft` together | 8,192 characters | 400, `application/problem+json` |
| outputs of a classic model | 524,288 values | 400 |
| a duration | a century (36,525 days) | `emulator check` and `PUT` |
| a clock's scale | 0.000001 to 1,000,000 | the same |
| a deployment's dimensions | 65,536 | the same |
| a limit's amount | 10^15 | the same |
| the content of a scenario file | 50,000 values and 8 Mi characters of text after aliases are expanded, {_MAX_DEPTH} levels | the same |
| the size of a scenario file, or of a reply file next to it | 16 MiB; all reply files together 64 Mi characters | the same |
| credentials of a scenario | 1,000 | the same |
| mistakes of a scenario or a control request | the first 200 are listed | a count of the others |
| a control request other than a scenario | 10,000 values, 4 MiB of text | 413, `application/problem+json` |
| a regular expression | {MAX_PATTERN_LENGTH:,} characters, 2 MiB after compilation; no look-around, no back-reference | `emulator check` and `PUT` |
| all regular expressions of a scenario or a control request | {MAX_STEPS:,} steps to parse and compile them: a word takes some tens, `\\w+` 2,000, `\\w{{1,20}}` 27,000 | the same |
| a text that an expression searches | 2·10^9 steps: characters times the cost of the expression (`\\w+`: a million characters) | only the text up to there is searched; the log has one line for each such expression |

Regular expressions are searched in time linear in the text. Long searches run in a separate thread.

A scenario cannot set headers that frame a response, such as `Content-Length`, `Transfer-Encoding` and `Connection`. Statuses without a body
(204, 304) have none, even with a fault. So the client always finds the start of the next response on an open connection. Dates end with the year 9999, on any clock.

**Caches** are bounded as well:

- cached responses, schemas, regular expressions and words: by their size;
- names that clients make up: the latest 10,000;
- labels of metrics: 2,000 for each vendor; the rest is counted as `_OTHER`.

Data derived from a scenario is removed with the scenario. The memory of a process that keeps running reaches its maximum after an hour or so.

**Delays for other requests.** Work on the event loop delays other requests, as a rule by some milliseconds. The maximum is about 100 ms, for a
body of 300,000 members, which is parsed at once. It is longer only if a scenario sets a journal much larger than the default of 10,000
requests. Clearing a journal of 50,000 takes 0.3 s, and so does garbage collection.

A client that closes (or half-closes) the connection before the response starts is treated as disconnected, as with most servers.

## Test the bounds yourself

`python -m tests.tools.fuzz --seconds 600 --seed 1` starts its own emulator and sends mutated requests, made from recorded exchanges of all
vendors and profiles. It draws faults, limits and clocks for each round. It detects:

- bugs of the emulator and connections that lost their framing;
- responses that take more than a second of work;
- growth of memory (from round 300 on, when the caches are nearly full) and files that stay open.

A finding is printed at once, stored in `--findings FOLDER`, and makes the exit code 1. The same seed sends the same requests:
`--first 172 --rounds 1` repeats those of one round.

`python -m tests.tools.attack` sends every known attack, and an oversized value in each place of each request. For each it reports the slowest
health check, the growth of memory, the response, and whether the next request succeeded. `--only WORDS` selects some attacks. `--every` puts
every oversized value in every place, which takes hours. On a busy machine, pass `--worst 1`, which permits slower health checks.
"""


def render() -> str:
    """The whole page."""
    return _HEAD + "".join(_tell()) + _REST


def _tell() -> Iterator[str]:
    for name, field in CallBounds.model_fields.items():
        default = getattr(DEFAULT_BOUNDS, name)
        shown = f"{default // 1024**2} MiB" if name in _SIZES else f"{default:,}"
        yield f"| `{name}` | {shown} | {_format_description(field)} | {_RESPONSES[name]} |\n"


def _format_description(field: FieldInfo) -> str:
    text = (field.description or "").removesuffix(".")
    return text[:1].lower() + text[1:]
