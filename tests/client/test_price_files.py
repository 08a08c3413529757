"""Tests of clients that load a scenario whose prices are in a file."""

from pathlib import Path

import pytest

from emulator.client import EmulatorClient
from emulator.scenario.parsed import ScenarioError
from tests.scenario.test_price_files import PRICES, write


def test_clients_send_the_prices_of_a_file(tmp_path: Path, session: EmulatorClient) -> None:
    document = session.load(write(tmp_path, PRICES)).document
    assert isinstance(document, dict)
    assert document["prices"] == {
        "gpt-4o*": {"input": 2.5, "output": 10, "source": "an invoice", "date": "2026-11-01"},
        "mine": {"per_hour": 100, "unit": "PTU"},
    }
    with pytest.raises(ScenarioError, match=r"prices\.yaml:1:5: a\.inptu: unknown key"):
        session.load(write(tmp_path, "a: {inptu: 1}\n"))
    (tmp_path / "prices.yaml").unlink()
    with pytest.raises(ScenarioError, match="no such file"):
        session.load(tmp_path / "a.yaml")
