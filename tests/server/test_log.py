"""The line each request leaves."""

import io
import json

from emulator.server.log import AccessLog
from tests.conftest import Start
from tests.server.toy import TOY

RULES = "rules: [{name: greets, when: {prompt: Hello}, error: {kind: internal}}]\n"


async def log(start: Start, *prompts: str, as_json: bool) -> list[str]:
    toy = await start(RULES, vendors=[TOY])
    stream = io.StringIO()
    access = AccessLog(as_json=as_json, stream=stream)
    toy.built.journal.listeners.append(access)
    for prompt in prompts:
        await toy.ask("toy", "/chat", {"prompt": prompt, "max": 3}, headers={"x-key": "k"})
    access.flush()
    return stream.getvalue().splitlines()


async def test_a_line_for_people(start: Start) -> None:
    matched, unmatched = await log(start, "Hello", "Bye", as_json=False)
    assert "toy  POST  /chat  400  toy" in matched
    assert matched.endswith("rule 'greets'  internal")
    assert "no rule matched. The nearest is 'greets': prompt does not hold" in unmatched
    assert "Bye" not in unmatched


async def test_a_line_for_machines(start: Start) -> None:
    matched, unmatched = map(json.loads, await log(start, "Hello", "Bye", as_json=True))
    assert (matched["rule"], matched["error"], matched["status"]) == ("greets", "internal", 400)
    assert "nearest_rule" not in matched
    assert unmatched["nearest_rule"].startswith("The nearest is 'greets'")
    assert (unmatched["completion_tokens"], unmatched["faults"]) == (3, [])


async def test_calls_alike_are_explained_once(start: Start) -> None:
    lines = await log(start, "one", "two", "three", as_json=False)
    assert ["no rule matched" in line for line in lines] == [True, False, False]
