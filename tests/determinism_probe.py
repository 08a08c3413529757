"""What an emulator answers to a fixed set of odd requests, as digests; run as ``python -m tests.determinism_probe``."""

import asyncio
import hashlib
import json
import random
from urllib.parse import urlsplit

from tests.conftest import running
from tests.http_client import read_answer
from tests.test_fuzz import CORPUS, make_request

REQUESTS = 15  # to each vendor
_SCENARIO = """\
latency: {}
rules:
  - name: by chance
    when: {vendor: "*"}
    times: {probability: 0.1}
    error: {kind: overloaded, status: 503}
"""


async def collect() -> dict[str, list[str]]:
    """A digest of head and body for each request, by vendor."""
    digests = {}
    async with running(_SCENARIO) as emulator:
        for vendor in CORPUS:
            digests[vendor] = await _ask(emulator.urls[vendor], vendor)
    return digests


async def _ask(base_url: str, vendor: str) -> list[str]:
    url = urlsplit(base_url)
    draw = random.Random(f"{vendor} probe")
    found = []
    for _ in range(REQUESTS):
        reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=2**26)
        writer.write(make_request(vendor, draw))
        answer = await read_answer(reader)
        writer.close()
        found.append(hashlib.sha256(answer.head + b"\n" + answer.body).hexdigest())
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(collect())))
