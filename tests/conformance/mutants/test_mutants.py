"""Every mutant of every golden request is accepted or refused as the rules and the official descriptions say."""

import re
from collections import defaultdict

import pytest

from tests.conformance.mutants.check import Tally, check_golden
from tests.conformance.mutants.known import KNOWN
from tests.conformance.mutants.mutate import list_mutants
from tests.conformance.mutants.requests import Golden, list_goldens, serve_profile
from tests.conformance.official.descriptions import Folder

VENDORS = ("azure", "databricks", "mindie", "openvino", "tgi")
_SAMPLE = 101  # a prime, so that a sample has every change and every depth


async def check_vendor(vendor: str, folder: Folder | None = None, step: int = 1) -> Tally:
    """Check every ``step``-th mutant of a vendor's goldens."""
    by_profile: dict[str, list[Golden]] = defaultdict(list)
    for golden in list_goldens(vendor):
        by_profile[golden.profile].append(golden)
    tally = Tally()
    for profile, goldens in by_profile.items():
        async with serve_profile(vendor, profile) as running:
            for golden in goldens:
                await check_golden(running, golden, tally, folder, step)
    return tally


def list_unknown(tally: Tally) -> list[str]:
    """Return the disagreements without a reason, with an example of each."""
    return [
        f"{text} ({example})"
        for text, example in sorted(tally.found.items())
        if not any(re.fullmatch(pattern, text) for pattern in KNOWN)
    ]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_sample_of_mutants_is_judged_as_rules_say(vendor: str) -> None:
    tally = await check_vendor(vendor, step=_SAMPLE)
    assert not tally.bugs
    assert not list_unknown(tally)
    assert tally.compared > tally.mutants / 3


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
async def test_every_mutant_is_judged_as_rules_and_descriptions_say(
    vendor: str, official_descriptions: Folder | None
) -> None:
    tally = await check_vendor(vendor, official_descriptions)
    assert not tally.bugs
    assert not list_unknown(tally)
    assert tally.compared > tally.mutants / 3
    reasons = [pattern for pattern in KNOWN if pattern.startswith(f"rules {vendor} ")]
    assert [one for one in reasons if not any(re.fullmatch(one, text) for text in tally.found)] == []


def test_mutants_of_a_body() -> None:
    texts = [mutant.text for mutant in list_mutants({"a": [1]})]
    assert texts[:6] == ["null", "true", "7", "0.5", '"renamed"', "[]"]
    assert texts[6:9] == ["{}", '{"a": [1], "a": [1]}', '{"ax": [1]}']
    assert '{"a": []}' in texts
    assert '{"a": [1, 1]}' in texts
    assert '{"a": [null]}' in texts
    assert '{"a": "renamed"}' in texts
    assert len(texts) == 23
