"""Hand-written plans, and the chat answers they come to."""

from collections.abc import Sequence

from emulator.core.calls import InferenceCall
from emulator.core.http import Event, Response
from emulator.core.plan import Choice, FinishReason, Plan, Segment, Tokens, Usage
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import CHAT, PASS, accept, chat, make_request

TOOL: JSON = {"type": "function", "function": {"name": "f"}}
NAMED: JSON = {"type": "function", "function": {"name": "f"}}
REQUEST = make_request(CHAT, chat())


def say(*spans: tuple[str, Sequence[str]], finish: FinishReason = "stop", **fields: JSON) -> Choice:
    """A choice of spans; token i is due after (i + 1) / 10 seconds. A tool call's kind is ``call:name``."""
    tokens: tuple[str, ...] = ()
    laid = []
    for kind, said in spans:
        name, _, tool = kind.partition(":")
        start = len(tokens)
        tokens += tuple(said)
        laid.append(Segment("tool_call" if name == "call" else kind, start, len(tokens), tool))  # type: ignore[arg-type]
    due = tuple((i + 1) / 10 for i in range(len(tokens)))
    words = Tokens(tokens, tuple(range(len(tokens))))
    return Choice(words, due=due, finish_reason=finish, segments=tuple(laid), **fields)


def plan_of(*choices: Choice) -> Plan:
    usage = Usage(13, sum(len(choice.tokens) for choice in choices), 0)
    return Plan(key=bytes(16), created=1731461004.7, choices=choices, usage=usage)


def call_of(profile: str = "seed", scenario: str = "", **fields: JSON) -> InferenceCall:
    return accept(chat(**fields), CHAT, scenario or f"profile={profile}", PASS)


def render(plan: Plan, profile: str = "seed", scenario: str = "", **fields: JSON) -> Response:
    return call_of(profile, scenario, **fields).codec.render(plan, REQUEST)


def events_of(plan: Plan, profile: str = "seed", scenario: str = "", **fields: JSON) -> list[Event]:
    return list(call_of(profile, scenario, stream=True, **fields).codec.stream(plan, REQUEST).events)


def stream(plan: Plan, profile: str = "seed", scenario: str = "", **fields: JSON) -> list[tuple[float, bytes]]:
    return [(due, data) for due, data, _, _ in events_of(plan, profile, scenario, **fields)]


def chunks(plan: Plan, profile: str = "seed", **fields: JSON) -> list[JSON]:
    events = [event for _, event in stream(plan, profile, **fields)]
    assert events.pop() == b"data: [DONE]\n\n"
    assert all(event.startswith(b"data: {") and event.endswith(b"}\n\n") for event in events)
    return [parse_json(event[6:-2]) for event in events]


def deltas(plan: Plan, profile: str = "seed", **fields: JSON) -> list[JSON]:
    return [c["choices"][0]["delta"] for c in chunks(plan, profile, **fields) if c["choices"]]


HELLO = plan_of(say(("text", ["Hel", "", "lö", "."])))
CALL = plan_of(say(("call:f", ['{"a"', ": ", "1}"]), finish="tool_calls"))
