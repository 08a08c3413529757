"""Several emulators of one process that share a store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from emulator.cluster.replica import join_cluster
from emulator.core.vendor import Vendors
from emulator.http.listeners import Listeners
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.storage.resilient import Loss
from tests.handler.toy import TOY
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

HEADERS = {"x-key": "k"}
TOYS: Vendors = {"toy": TOY}
PLAIN = "version: 1\nname: plain\n"


async def open_replica(
    stack: AsyncExitStack, url: str, scenario: str = PLAIN, vendors: Vendors = TOYS, loss: Loss = "refuse"
) -> Running:
    """Open another replica until the stack is closed."""
    built = create_application(load_text(scenario, "shared"), vendors=vendors, state_url=url, state_loss=loss)
    await stack.enter_async_context(join_cluster(built.runtime, is_patient=loss == "local"))
    listeners = Listeners(built.runtime, built.control)
    await listeners.open("127.0.0.1", {"front": 0, **dict.fromkeys(vendors, 0)})
    stack.push_async_callback(listeners.close)
    return Running(built, listeners.urls)


@asynccontextmanager
async def open_replicas(url: str, scenario: str = PLAIN, count: int = 3) -> AsyncIterator[list[Running]]:
    async with AsyncExitStack() as stack:
        yield [await open_replica(stack, url, scenario) for _ in range(count)]


async def steer(replica: Running, method: str, target: str, body: JSON | str = None) -> Answer:
    """Send a control request; a text body is a scenario in YAML."""
    payload = body.encode() if isinstance(body, str) else body
    return await replica.ask("front", f"/_emulator{target}", payload, method=method)


async def chat(replica: Running, prompt: str = "a", **headers: str) -> Answer:
    return await replica.ask("toy", "/chat", {"prompt": prompt, "max": 2}, headers={**HEADERS, **headers})
