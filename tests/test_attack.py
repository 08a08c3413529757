"""What the attack of :mod:`tests.tools.fuzz` sends: a sensible request to every route, and that again however bent."""

import copy
import random

import pytest

from emulator.core.json import dump_json
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.test_fuzz import check, mutate
from tests.tools.fuzz.requests import list_seeds
from tests.tools.fuzz.seeds import find_bodies, list_more

pytestmark = pytest.mark.slow

_BODIES = ("POST", "PUT", "PATCH")
_BARE = {  # routes that look at no body, and those that the corpus of another route bends
    "/{tenant}/oauth2/v2.0/token", "/v1/tokenizer", "/v2/models/{model}/stopInfer",
    "/v1/engine-server/fault-handling-command",
    "/v1/load_lora_adapter", "/vertex", "/invocations", "/v1/config/reload", "/v3/{rest:path}", "/v1/{rest:path}",
}  # fmt: skip


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_route_with_body_is_fuzzed(vendor: str) -> None:
    targets = {(method, target.partition("?")[0]) for method, target, _, _ in list_seeds(vendor)}
    paths = [endpoint.path for endpoint in VENDORS[vendor].endpoints if endpoint.method in _BODIES]
    missing = [path for path in paths if not path.endswith("/") and not find_bodies(vendor, path)]
    assert set(missing) <= _BARE
    assert all(("POST", path) in targets for path in missing if "{" not in path), "nor do the goldens ask it"


@pytest.mark.parametrize("vendor", ["databricks", "azure"])
async def test_native_request_finds_no_bug(start: Start, vendor: str) -> None:
    """Anthropic's and Gemini's own bodies."""
    running = await start("latency: {}\n")
    ways = ("/messages", "enerateContent", "countTokens", "/count_tokens")
    posted = [seed for seed in list_more(vendor) if seed[0] == "POST" and "/batches" not in seed[1]]
    seeds = [seed for seed in posted if any(way in seed[1] for way in ways)]
    draw, statuses = random.Random(vendor), set()
    for number in range(600):
        method, target, body = seeds[number % len(seeds)]
        data = mutate(copy.deepcopy(body), draw) if number >= len(seeds) else dump_json(body)
        answer = await running.ask(vendor, target, data, method=method, headers={"Authorization": "Bearer k"})
        check(data[:200], answer)
        assert answer.status == 200 or number >= len(seeds), (target, answer.body)
        statuses.add(answer.status)
    assert {200, 400} <= statuses
