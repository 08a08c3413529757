"""Try the clients and write their table anew: ``python -m tests.conformance [FILE…]``."""

import sys

import pytest

from tests.conformance.table import FILE, FOLDER, PAGES, Outcomes, judge

outcomes = Outcomes()
clients = [str(FOLDER), *(f"--ignore={page}" for page in sorted(PAGES))]  # what is written here is no client
# What one client leaves open is no verdict on the next.
quiet = ["-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
pytest.main(["-q", "-n", "0", "-m", "", *quiet, *(sys.argv[1:] or clients)], plugins=[outcomes])
before = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
FILE.write_text(judge(outcomes, before), encoding="utf-8")
