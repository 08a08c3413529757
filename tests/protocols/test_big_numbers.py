"""The cheap check finds every number beyond doubles, at any depth; it may also find others."""

import json
from math import isinf

import pytest

from emulator.protocols.big_numbers import has_big_numbers

DIGITS = "7" * 210


@pytest.mark.parametrize(
    "number",
    [
        *(
            "1e309",
            "0E+0309",
            "1" + "0" * 309,
            "1.5e12345",
            "-1e400",
            f"{DIGITS}e99",
            f"-{DIGITS}.5E+99",
            "2e0000000308",
        ),
        *(f"1.{DIGITS}e309", "179769313486231580793728971405301e276"),
    ],
)
@pytest.mark.parametrize("body", ["{}", '{{"a": {}}}', '{{"a": [[{{"b": [1, {}]}}]]}}'])
def test_big_numbers_are_found(number: str, body: str) -> None:
    assert has_big_numbers(body.format(number).encode())


@pytest.mark.parametrize("number", ["1e99", "9" * 199, "1e-400", "0.5", "-0", "1.5E+30", f"{'9' * 150}e99"])
def test_others_are_not_found(number: str) -> None:
    assert not has_big_numbers(b"[%b]" % number.encode())
    assert not isinf(json.loads(number))
