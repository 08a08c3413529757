"""``emulator try``: send one question to an emulator in this process, and print answer, timing and matching rule."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from typing import TypeVar
from urllib.parse import urlsplit

from emulator.cli.explain import choose_key
from emulator.cli.files import require_readable
from emulator.control.models import RequestDetail
from emulator.core.clock import InstantClock
from emulator.core.json import dump_text
from emulator.core.text import escape
from emulator.faults.hang import Hang
from emulator.runtime.factory import make_clock
from emulator.runtime.services import adding_vendor_mistakes, list_deployments, read_settings
from emulator.scenario.code_frame import format_rows
from emulator.scenario.load import load_paths
from emulator.scenario.models import Scenario
from emulator.scenario.outcomes import Outcome
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.serve.in_process import LocalEmulator
from emulator.settings import Settings, SettingsError
from emulator.vendors import VENDORS

AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)

_TIMEOUT = 60.0  # wall-clock seconds
_GIVE_UP = 3600.0  # scenario seconds after which the client leaves a response that hangs for ever
_WAITS = ("retry-after", "retry-after-ms")


def try_question(question: str, vendor: str | None, settings: Settings, *, model: str | None, stream: bool) -> int:
    """Print status, answer, timing and reason for a first request; return 1 if the scenario has mistakes.

    Args:
        vendor: ``None``: the first that the scenario serves.
        model: ``None``: the vendor's usual one, or else the first deployment that chats.
    """
    require_readable(settings.paths)
    try:
        with adding_vendor_mistakes(VENDORS):
            loaded, _ = load_paths(settings.paths, settings.scenario)
        tried = _ask(loaded, question, vendor, settings, model=model, stream=stream)
    except ScenarioError as error:
        print(format_rows(error.rows), file=sys.stderr)
        return 1
    print("\n".join(_describe(tried)))
    return 0


@dataclass(frozen=True, slots=True)
class _Tried:
    """Record of the request, with what its client saw of it.

    Fields:
        model: named by the user.
        said: body, or why there is none.
        waits: headers that ask for a wait.
    """

    call: RequestDetail
    model: str | None
    said: str = ""
    waits: tuple[tuple[str, str], ...] = ()


def _ask(
    loaded: ParsedScenario, question: str, vendor: str | None, settings: Settings, *, model: str | None, stream: bool
) -> _Tried:
    """Send the question to an emulator in this process."""
    name, path, asked = _choose(loaded.scenario, vendor, model)
    body = {"model": asked, "messages": [{"role": "user", "content": question}], "stream": stream}
    key = choose_key(loaded.scenario)
    headers = {"Authorization": f"Bearer {key}", "api-key": key, "Content-Type": "application/json"}
    prompt = replace(loaded, scenario=_end_hangs(loaded.scenario))
    shown = make_clock(loaded.scenario.clock)
    clock = InstantClock(shown.now(), spares_backoff=shown.spares_backoff, shown=shown)
    with LocalEmulator(loaded=prompt, seed=settings.seed, clock=clock) as emulator:
        parts = urlsplit(emulator.url(name))
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        connection.request("POST", path, json.dumps(body), headers)
        said = ""
        waits: tuple[tuple[str, str], ...] = ()
        try:
            response = connection.getresponse()
            waits = tuple((name, value) for name, value in response.getheaders() if name.lower() in _WAITS)
            said = response.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:  # a fault broke the response
            said = str(error)
        connection.close()
        return _Tried(emulator.last(), model, said, waits)


def _end_hangs(scenario: Scenario) -> Scenario:
    """Return the scenario with an end for each fault that lasts until the client gives up."""

    def end(outcome: AnyOutcome) -> AnyOutcome:
        faults = [
            fault.model_copy(update={"for_": _GIVE_UP}) if isinstance(fault, Hang) and fault.for_ is None else fault
            for fault in outcome.faults or ()
        ]
        return outcome.model_copy(update={"faults": tuple(faults)}) if faults else outcome

    rules = []
    for rule in map(end, scenario.rules):
        steps = rule.sequence and tuple(map(end, rule.sequence))
        rules.append(rule.model_copy(update={"sequence": steps}) if steps else rule)
    return scenario.model_copy(update={"rules": tuple(rules)})


def _choose(scenario: Scenario, vendor: str | None, model: str | None) -> tuple[str, str, str]:
    """Return vendor, path and deployment of the request.

    Raises:
        SettingsError: the scenario does not serve the vendor, or the vendor has no deployment that chats.
    """
    served = [name for name in VENDORS if scenario.vendors.get(name) is not False]
    name = vendor or next(iter(served), "")
    if name not in served:
        raise SettingsError(f"{name!r} is not served by this scenario; there are {', '.join(served) or 'none'}")
    about = VENDORS[name]
    deployments = list_deployments(about, read_settings(about, scenario), scenario)
    model = model or about.choose_chat_model(deployments)
    if not model:
        raise SettingsError(f"{name} has no deployment for chats; --model names one")
    return name, about.chat_path, model


def _describe(tried: _Tried) -> Iterator[str]:
    """Yield the lines: what was asked of whom, the outcome, the times, the rules."""
    call, said = tried.call, tried.said
    result = f"{call.status or 'no response'}{f' {call.error}' if call.error else ''}"
    yield escape(f"{call.vendor}  {call.deployment or '-'}{'  stream' if call.stream else ''}  →  {result}")
    if tried.model and call.deployment not in (None, tried.model):
        yield escape(f"model    {call.vendor} has no {tried.model!r}: {call.deployment} answers in its place")
    for fault in call.faults:
        yield f"fault    {fault}"
    for name, value in tried.waits:
        yield escape(f"wait     {name}: {value}")
    yield ""
    response = call.response
    if response.text:
        yield from map(escape, response.text.split("\n")) if call.whole else _show_received(call)
    elif said:
        yield from map(escape, said.strip().split("\n"))
    for tool in response.tool_calls:
        yield escape(f"{tool.name}({dump_text(tool.arguments)})")
    yield ""
    yield from _describe_times(call)
    yield escape(f"why      {call.summary}")
    for verdict in call.explanation:
        yield escape(f"         {'✓' if verdict.takes else '✗'} {verdict.text}")


def _show_received(call: RequestDetail) -> Iterator[str]:
    """Yield the text that was sent, up to the cut, and the size of the rest."""
    received = call.response.received or ""
    *lines, last = received.split("\n")
    yield from map(escape, lines)
    yield f"{escape(last)} ▲ cut here, {call.completion_tokens - call.sent_tokens} tokens before the end"


def _describe_times(call: RequestDetail) -> Iterator[str]:
    yield f"tokens   {call.prompt_tokens} prompt, {call.sent_tokens} of {call.completion_tokens} completion"
    if call.planned_ttft is not None:
        yield f"TTFT     {call.planned_ttft:.3f} s"
    if "hang" in call.faults and call.duration >= _GIVE_UP:
        yield "duration until the client gives up"
    elif call.planned_end is not None:
        yield f"duration {call.planned_end:.3f} s"
    for limit in call.limits:
        wait = "no wait is long enough" if limit.wait is None else f"again in {limit.wait:g} s"
        yield escape(f"limit    {limit.limit}: {limit.asked} {limit.unit} asked, {limit.available} left; {wait}")
