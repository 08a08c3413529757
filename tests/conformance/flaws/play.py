"""Play programs on stages: ``python -m tests.conformance.flaws.play SDK``, with a line of JSON for each on stdin.

A line has ``program``, ``url``, ``key``, ``budget``, and ``pause``: seconds before the next program starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.flaws.application import PROGRAMS
from tests.conformance.flaws.sdks import SDKS
from tests.untyped_json import JSON


def main(name: str, parts: Sequence[JSON]) -> None:
    runs = []
    with ThreadPoolExecutor(len(parts)) as pool:
        for part in parts:
            client = SDKS[name].make(part["url"], part["key"])
            runs.append(pool.submit(PROGRAMS[part["program"]](client, part["budget"]).run))
            time.sleep(part["pause"])
    for run in runs:
        run.result()


if __name__ == "__main__":
    main(sys.argv[1], [json.loads(line) for line in sys.stdin])
