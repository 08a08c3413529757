"""Tests of the account of tokens, and of prices."""

import json
import random
import re
from functools import partial
from importlib.resources import files

import pytest

from emulator.core.requests import Deployment
from emulator.verdicts.calls import Call, build_history
from emulator.verdicts.prices import Price, PriceList, load_units
from emulator.verdicts.usage import TokenAccount, add_up
from tests.verdicts.test_judge import call, cut, refused


def account(*calls: Call) -> TokenAccount:
    return add_up(build_history(sorted(calls, key=lambda one: one.start)))


def test_each_token_has_one_place() -> None:
    usage = account(
        call(0, key="a", delivered=5),
        cut(1, "b"),
        call(2, key="c", delivered=3, client_left=True, whole=False),
        call(3, 2, key="d", delivered=8),
        call(3.5, 0.2, key="d", delivered=9),
        call(6, key="e", delivered=2, status=500),
    )
    waste = usage.waste
    assert (usage.sent, usage.delivered) == (34, 14)
    assert (waste.refused, waste.cut, waste.abandoned, waste.superseded) == (2, 7, 3, 8)


def test_account_closes_over_random_calls() -> None:
    drawn = random.Random(7)
    calls = []
    for number in range(10_000):
        status, left = drawn.choice((200, 200, 503)), drawn.random() < 0.2
        one = call(
            number / 50,
            drawn.random(),
            status,
            key=str(drawn.randrange(200)),
            delivered=drawn.randrange(100),
            whole=not left and drawn.random() < 0.8,
            client_left=left,
        )
        one.faults = drawn.choice(((), (), ("truncate",), ("late_error",)))
        calls.append(one)
    usage = account(*calls)
    assert usage.sent == sum(one.delivered for one in calls) == usage.delivered + usage.waste.total
    assert min(usage.waste.refused, usage.waste.cut, usage.waste.abandoned, usage.waste.superseded) > 0


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([], 1.0, id="no call"),
        pytest.param([call(0), call(1)], 1.0, id="the same question twice"),
        pytest.param([refused(0), refused(1), call(2)], 3.0, id="three attempts"),
        pytest.param([call(0, 2), call(1), call(9, key="b")], 1.5, id="a hedge"),
    ],
)
def test_amplification_is_calls_for_each_question(calls: list[Call], expected: float) -> None:
    assert account(*calls).amplification == expected


@pytest.mark.parametrize(
    ("deployment", "prompt_tokens", "output_tokens", "usd"),
    [  # computed by hand: tokens / 1,000,000 * price, of prompt and answer
        ("databricks-meta-llama-3-3-70b-instruct", 1_000_000, 1_000_000, 2.0),  # 0.50 + 1.50
        ("gpt-4o", 1000, 500, 0.0075),  # 0.0025 + 0.005
        ("gpt-4o-mini", 2000, 1000, 0.0009),  # 0.0003 + 0.0006
        ("gpt-4.1", 500_000, 0, 1.0),  # 0.5 * 2.00
        ("databricks-bge-large-en", 10_000, 0, 0.001),  # 0.01 * 0.10
    ],
)
def test_cost_is_that_of_the_price_list(deployment: str, prompt_tokens: int, output_tokens: int, usd: float) -> None:
    price = PriceList({}).find("", deployment)
    assert price is not None
    assert price.find_cost(prompt_tokens, output_tokens) == pytest.approx(usd, abs=1e-12)


def test_price_of_unit_has_source_and_date() -> None:
    assert load_units() == {"USD": 1.0, "DBU": 0.07, "PTU": 2.0}
    document = json.loads(files("emulator.verdicts").joinpath("prices.json").read_text())
    rows = [*document["units"].values(), *document["prices"]]
    assert all(
        row["source"].startswith("https://") and re.fullmatch(r"\d{4}-\d\d(-\d\d)?", row["date"]) for row in rows
    )


azure = partial(Deployment, vendor="azure")


@pytest.mark.parametrize(
    ("own", "served", "deployment", "expected"),
    [
        pytest.param({"gpt-*": Price(1.0, 2.0)}, "", azure(name="gpt-4o"), Price(1, 2), id="own first"),
        pytest.param({}, "", azure(name="mine"), None, id="none"),
        pytest.param({}, "", azure(name="mine", model="gpt-4o-2024-08-06"), Price(2.5, 10), id="model"),
        pytest.param({}, "gpt-4.1", azure(name="mine"), Price(2, 8), id="served"),
        pytest.param({}, "", azure(name="gpt-4o", mode="provisioned"), None, id="rented, not by the token"),
        pytest.param(
            {"gpt-4o": Price(hourly=100.0)},
            "",
            azure(name="gpt-4o", mode="provisioned"),
            Price(hourly=100.0),
            id="rented at an own price",
        ),
    ],
)
def test_price_is_found_by_name_and_model(
    own: dict[str, Price], served: str, deployment: Deployment, expected: Price | None
) -> None:
    assert PriceList(own).find(served, deployment.name, deployment) == expected
