"""The page on testing shows the output of pytest for a failed test."""

import re

import pytest

from tests.test_pytest_plugin import suite
from tests.tools.docs.blocks import find_blocks

pytestmark = pytest.mark.slow

__all__ = ["suite"]  # a fixture

SOURCE = """
import urllib.request

PATH = "/serving-endpoints/chat/completions"
BODY = b'{"model": "databricks-meta-llama-3-3-70b-instruct", "messages": [{"role": "user", "content": "Hello"}]}'

def test_it(emulator):
    for url in (emulator.url("databricks") + PATH, emulator.url("databricks") + "/nope" + PATH):
        try:
            urllib.request.urlopen(urllib.request.Request(url, BODY, {"Authorization": "Bearer k"})).close()
        except OSError:
            pass
    emulator.assert_called(prompt={"contains": "tides"}, times=3)
"""
CHANGES = ((r"#\d+", "#"), (r"test_it\.\w+'", "test_it.…'"), (r"\d\.\d{3} s", "… s"), (r"-{5,}", "-"), (r"[ \t]+", " "))


def plain(text: str) -> list[str]:
    """Its lines without what is never the same."""
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    return [line.strip() for line in text.splitlines()]


def test_failing_test_output_matches_page(suite: pytest.Pytester) -> None:
    (block,) = (block for block in find_blocks() if block.page == "testing.md" and not block.language)
    suite.makepyfile(test_page=SOURCE)
    ran = suite.runpytest_subprocess("-p", "emulator.pytest_plugin", "-p", "no:cacheprovider", timeout=60)
    ran.assert_outcomes(failed=1)
    said = iter(plain(ran.stdout.str()))
    missing = [line for line in plain(block.text) if line != "…" and line not in said]  # one after the other
    assert not missing, ran.stdout.str()
