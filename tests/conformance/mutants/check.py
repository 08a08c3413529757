"""Hold the emulator's verdict on each mutant, accepted or refused, against rules and descriptions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.conformance.mutants.mutate import Mutant
from tests.conformance.mutants.requests import Golden, exchange, is_refused
from tests.conformance.mutants.rules import find_rules
from tests.conformance.official.descriptions import Folder, Operation
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

_BEFORE_BODY = (401, 403, 404, 405, 412, 429)  # statuses that a body does not change, but by its model


@dataclass(slots=True, eq=False)
class Tally:
    """Verdicts by kind, disagreements with an example of each, and bugs."""

    mutants: int = 0
    compared: int = 0
    found: dict[str, str] = field(default_factory=dict)
    bugs: list[str] = field(default_factory=list)


async def check_golden(
    running: Running, golden: Golden, tally: Tally, folder: Folder | None = None, step: int = 1
) -> None:
    """Send each ``step``-th mutant of a golden and compare their verdicts.

    Args:
        folder: official descriptions to compare with, besides the rules.
    """
    every = [*golden.list_mutants()]
    mutants = every[tally.mutants % step :: step]
    original, *answers = await exchange(running, golden, [json.dumps(golden.body), *(one.text for one in mutants)])
    claims = [*_list_claims(golden, original, folder)]
    for mutant, answer in zip(mutants, answers, strict=True):
        tally.mutants += 1
        where = f"{golden.vendor} {golden.profile} {golden.head.split(chr(10))[0]} {mutant.text[:300]}"
        if answer.header("x-emulator-bug") is not None:
            tally.bugs.append(where)
        refused = is_refused(answer)
        for claim in claims:
            expected = claim.refuses(mutant)
            tally.compared += expected is not None
            if expected is not None and expected != refused:
                verdict = "refused" if refused else "accepted"
                place = mutant.place or "."
                text = (
                    f"{claim.label} {golden.vendor} {golden.profile} {golden.path}: {place} {mutant.change} {verdict}"
                )
                tally.found.setdefault(text, f"{answer.status} {mutant.text[:200]} {answer.body[:150]!r}")


class _Rules:
    label = "rules"

    def __init__(self, golden: Golden) -> None:
        self.rules = find_rules(golden)

    def knows(self, body: JSON, *, refused: bool) -> bool:
        """Return whether the rules describe a request, whose refusal they would explain."""
        return self.rules is not None and self.rules.accepts(body) != refused

    def refuses(self, mutant: Mutant) -> bool | None:
        assert self.rules is not None
        return self.rules.refuses(mutant)


class _Described:
    def __init__(self, operation: Operation, schema: JSON) -> None:
        self.label = operation.label
        self.operation, self.schema = operation, schema

    def knows(self, body: JSON, *, refused: bool) -> bool:
        return bool(self.operation.description.compare("", body, self.schema)) == refused

    def refuses(self, mutant: Mutant) -> bool:
        return bool(self.operation.description.compare("", json.loads(mutant.text), self.schema))


class _Decided:
    label = "decided"

    @staticmethod
    def refuses(mutant: Mutant) -> bool | None:
        return None if mutant.place in ("", "model") else True


def _list_claims(golden: Golden, original: Answer, folder: Folder | None) -> Iterator[_Rules | _Described | _Decided]:
    """Yield what says how a golden's mutants are answered; nothing about requests that it does not describe itself."""
    refused = is_refused(original)
    if original.status in _BEFORE_BODY:
        yield _Decided()
        return
    rules = _Rules(golden)
    if rules.knows(golden.body, refused=refused):
        yield rules
    for operation in folder.find(golden.vendor, golden.method, golden.described) if folder is not None else ():
        schema = operation.find_request()
        if schema is not None and (described := _Described(operation, schema)).knows(golden.body, refused=refused):
            yield described
