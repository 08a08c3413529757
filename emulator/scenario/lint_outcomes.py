"""Outcomes that load and do not what their author may think."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from emulator.core.call import Task
from emulator.scenario.comparisons import compile_names
from emulator.scenario.conditions import When
from emulator.scenario.lint_limits import Catalogue, Finding
from emulator.scenario.locations import KeyPath
from emulator.scenario.outcomes import Outcome, ReplyOutcome
from emulator.scenario.schema import Scenario
from emulator.scenario.template import PLACEHOLDERS

_DOUBLE = re.compile(r"\{\{[^{}\n]*\}\}")
_TALKING = ("chat", "completions")


def find_odd_outcomes(scenario: Scenario, catalogue: Catalogue | None) -> Iterator[Finding]:
    """Replies that a task cannot give or that are not what they look like; errors that come too late to matter."""
    for position, rule in enumerate(scenario.rules):
        path: KeyPath = ("rules", position)
        tasks = _find_tasks(rule.when, catalogue)
        steps = [((*path, "sequence", number), step) for number, step in enumerate(rule.sequence or ())]
        outcomes: list[tuple[KeyPath, Outcome]] = [(path, rule), *steps]
        for place, outcome in outcomes:
            if outcome.reply is not None:
                yield from _find_odd_reply((*place, "reply"), outcome.reply, tasks)
            yield from _find_faults_of_nothing(place, outcome)
            if rule.when.stream is False or not tasks & set(_TALKING):
                yield from _find_idle_faults(place, outcome)


def _find_faults_of_nothing(path: KeyPath, outcome: Outcome) -> Iterator[Finding]:
    """Faults after one that leaves no answer to bend."""
    last = next((number for number, fault in enumerate(outcome.faults) if fault.leaves_nothing), len(outcome.faults))
    for number, fault in enumerate(outcome.faults[last + 1 :], last + 1):
        text = f"{fault.type} does nothing after {outcome.faults[last].type}, which leaves no answer to bend"
        yield (*path, "faults", number), text


def _find_idle_faults(path: KeyPath, outcome: Outcome) -> Iterator[Finding]:
    """Faults of streams, where no answer is streamed."""
    for number, fault in enumerate(outcome.faults):
        if fault.needs_events:
            yield (*path, "faults", number), f"{fault.type} does nothing to an answer that is not streamed"


def _find_tasks(when: When, catalogue: Catalogue | None) -> set[str]:
    """Tasks of the calls that a rule may be about."""
    is_task = compile_names(when.task or ("*",))
    tasks = set(filter(is_task, get_args(Task)))
    if when.deployment is None or catalogue is None:
        return tasks
    is_vendor, is_name = compile_names(when.vendor or ("*",)), compile_names(when.deployment)
    served = {
        deployment.task
        for vendor in filter(is_vendor, catalogue)
        for deployment in catalogue[vendor].values()
        if is_name(deployment.name)
    }
    return tasks & served if served else tasks


def _find_odd_reply(path: KeyPath, reply: ReplyOutcome, tasks: set[str]) -> Iterator[Finding]:
    for name, able in _list_able(reply):
        if tasks and not tasks & set(able):
            yield (*path, name), f"the rule is about {' and '.join(sorted(tasks))}, which cannot answer so"
    if reply.text is None or reply.template:
        return
    place = (*path, "text" if reply.file is None else "file")
    if (found := _DOUBLE.search(reply.text)) is not None:
        yield place, f"{found[0]} is sent as it is; with template: true {found[0][1:-1]} may be filled in"
    elif named := [name for name in PLACEHOLDERS if f"{{{name}}}" in reply.text]:
        yield place, f"{{{named[0]}}} is sent as it is; template: true fills it in"


def _list_able(reply: ReplyOutcome) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each kind of answer that is given, and the tasks that can give it."""
    for name in ("text", "file", "chunks"):
        if name in reply.model_fields_set:
            yield name, _TALKING
            break
    if reply.has_json:
        yield "json", _TALKING
    if reply.refusal is not None:
        yield "refusal", _TALKING
    for name in ("reasoning", "tool_calls", "generate"):
        if name in reply.model_fields_set:
            yield name, ("chat",)
    if reply.embedding is not None:
        yield "embedding", ("embeddings",)
