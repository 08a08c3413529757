"""Chat answers in one piece."""

from tests.conftest import Start
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    REPLY,
)


async def test_chat(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", CHAT, {"model": MODEL, "messages": HELLO})).json()
    assert list(answer) == ["id", "object", "created", "model", "choices", "usage"]
    message = {"role": "assistant", "content": " one two three", "tool_calls": []}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
