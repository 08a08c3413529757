"""``/metrics``."""

from tests.conftest import Start
from tests.vendors.mindie.direct import (
    MODEL,
    REPLY,
)


async def test_metrics(start: Start) -> None:
    running = await start(REPLY)
    await running.ask("mindie", "/", {"inputs": "Hello"})
    answer = await running.ask("mindie", "/metrics")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert f'generation_tokens_total{{model_name="{MODEL}"}} 4' in answer.body.decode()
    off = await (await start("vendors: {mindie: {service_monitor: false}}\n")).ask("mindie", "/metrics")
    assert off.status == 500
    assert off.json()["error_type"] == "Incomplete Generation"
