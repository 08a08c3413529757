"""The part of ``deploy/check`` that takes no engine."""

import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from emulator.vendors import VENDORS
from tests.handler.shared import PLAIN, open_replica
from tests.storage.servers import find_server, running

pytestmark = pytest.mark.slow

CHECK = Path(__file__).parents[2] / "deploy" / "check"


async def test_check_script_confirms_limit_shared_by_three_replicas(tmp_path: Path) -> None:
    if find_server("redis") is None or shutil.which("curl") is None:
        pytest.skip("redis-server or curl is not installed")
    with running("redis", tmp_path) as url:
        async with AsyncExitStack() as stack:
            served = {"databricks": VENDORS["databricks"]}
            three = [await open_replica(stack, url, PLAIN, served) for _ in range(3)]
            fronts = [replica.urls["front"] for replica in three]
            check = await asyncio.create_subprocess_exec(CHECK, *fronts, stdout=asyncio.subprocess.PIPE)
            reported, _ = await asyncio.wait_for(check.communicate(), 60)
    assert reported == b"the replicas are as they should be\n"
    assert check.returncode == 0
