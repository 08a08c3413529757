"""``emulator try``: print what a question would be answered, when and why; the emulator runs only for the question."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from emulator.cli.files import require_readable
from emulator.control.models import RequestDetail
from emulator.core.json import dump_text
from emulator.core.text import escape
from emulator.runtime.services import adding_vendor_mistakes, list_deployments, read_settings
from emulator.scenario.code_frame import format_rows
from emulator.scenario.load import load_paths
from emulator.scenario.models import ClockSettings, Scenario
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.serve.in_process import LocalEmulator
from emulator.settings import Settings, SettingsError
from emulator.vendors import VENDORS

_KEY = "any"
_TIMEOUT = 60.0  # wall-clock seconds


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
        call, said = _ask(loaded, question, vendor, settings, model=model, stream=stream)
    except ScenarioError as error:
        print(format_rows(error.rows), file=sys.stderr)
        return 1
    print("\n".join(_describe(call, said)))
    return 0


def _ask(
    loaded: ParsedScenario, question: str, vendor: str | None, settings: Settings, *, model: str | None, stream: bool
) -> tuple[RequestDetail, str]:
    """Send the question to an emulator in this process; return its record and the body of a refusal."""
    name, path, model = _choose(loaded.scenario, vendor, model)
    body = {"model": model, "messages": [{"role": "user", "content": question}], "stream": stream}
    keys = loaded.scenario.keys
    key = keys[0].token if keys else _KEY
    headers = {"Authorization": f"Bearer {key}", "api-key": key, "Content-Type": "application/json"}
    clock = ClockSettings(kind="instant").model_copy(update={"start": getattr(loaded.scenario.clock, "start", None)})
    instant = replace(loaded, scenario=loaded.scenario.model_copy(update={"clock": clock}))
    with LocalEmulator(loaded=instant, seed=settings.seed) as emulator:
        parts = urlsplit(emulator.url(name))
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        connection.request("POST", path, json.dumps(body), headers)
        said = ""
        try:
            response = connection.getresponse()
            said = response.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:  # a fault broke the response
            said = str(error)
        connection.close()
        return emulator.last(), said


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


def _describe(call: RequestDetail, said: str) -> Iterator[str]:
    """Yield the lines: what was asked of whom, the outcome, the times, the rules."""
    result = f"{call.status or 'no response'}{f' {call.error}' if call.error else ''}"
    yield escape(f"{call.vendor}  {call.deployment or '-'}{'  stream' if call.stream else ''}  →  {result}")
    for fault in call.faults:
        yield f"fault    {fault}"
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
    if call.planned_end is not None:
        yield f"duration {call.planned_end:.3f} s"
    for limit in call.limits:
        wait = "no wait is long enough" if limit.wait is None else f"again in {limit.wait:g} s"
        yield escape(f"limit    {limit.limit}: {limit.asked} {limit.unit} asked, {limit.available} left; {wait}")
