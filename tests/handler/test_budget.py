"""A budget that is enforced, over replicas that share Redis or Valkey: it is one budget."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.control.asking import ask
from tests.handler.shared import open_replicas, steer
from tests.http_client import Answer, Running

pytestmark = pytest.mark.slow

RULES = """
rules:
  - {name: down, when: {prompt: down}, error: {kind: internal}}
  - {name: flaky, when: {prompt: flaky}, times: {every: 2}, error: {kind: overloaded}}
"""


def write(budget: str) -> str:
    return f"version: 1\nname: a\nprices: {{toy: {{output: 1}}}}\nbudget: {{{budget}, enforce: true}}\n{RULES}"


async def mark_refused(replica: Running, answers: Sequence[Answer]) -> str:
    """Return a mark for each answer: ``x`` for those that the budget refused."""
    calls = (await steer(replica, "GET", "/requests?session=a")).json()["requests"]
    errors = {call["id"]: call["error"] for call in calls}
    found = [errors[answer.header("x-emulator-request-id") or ""] for answer in answers]
    return "".join("x" if error == "rate_limited" else "." for error in found)


@pytest.mark.parametrize(
    ("budget", "prompts", "refused"),
    [
        pytest.param("output_tokens: 6", "abcd", "..xx", id="3 tokens each"),
        pytest.param("output_tokens: 7", "abcde", "...xx", id="the call that overruns may end"),
        pytest.param("output_tokens: 999999999", "abcd", "....", id="as many tokens as there may be"),
        pytest.param("cost: 0.000005 USD", "abcd", "..xx", id="money"),
        pytest.param("cost: 999999999 USD", "abcd", "....", id="as much money as there may be"),
        pytest.param("attempts: 2", ["down"] * 4, "..xx", id="attempts"),
        pytest.param("attempts: 1", ["a", "a", "a"], "...", id="the same question after a whole answer"),
        pytest.param("attempts: 2", ["down", "a", "down", "down"], "...x", id="of one request"),
        pytest.param("attempts: 3", ["flaky"] * 6, "......", id="a whole answer ends the attempts"),
    ],
)
async def test_budget_is_one_over_replicas(url: str, budget: str, prompts: Sequence[str], refused: str) -> None:
    async with open_replicas(url, write(budget)) as replicas:
        answers = [await ask(replicas[number % 3], prompt, "a") for number, prompt in enumerate(prompts)]
        assert [await mark_refused(replica, answers) for replica in replicas] == [refused] * 3
        assert (await ask(replicas[0], "new", "b")).status == 200  # another session has a budget of its own


async def test_no_token_is_lost_or_counted_twice(url: str) -> None:
    """Ninety tokens of thirty calls at once leave one of 91, which one more call may overrun."""
    async with open_replicas(url, write("output_tokens: 91")) as replicas:
        answers = await asyncio.gather(*(ask(replicas[number % 3], f"{number}") for number in range(30)))
        later = [await ask(replicas[number % 3], f"later {number}") for number in range(4)]
        assert [answer.status for answer in [*answers, *later]] == [200] * 31 + [400] * 3


async def test_reset_of_one_replica_renews_the_budget_of_all(url: str) -> None:
    async with open_replicas(url, write("output_tokens: 3")) as replicas:
        statuses = [(await ask(replica)).status for replica in replicas[:2]]
        await steer(replicas[0], "POST", "/reset")
        assert [*statuses, (await ask(replicas[2])).status] == [200, 400, 200]
