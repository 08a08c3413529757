"""Streaming chat responses."""

import pytest

from tests.conftest import Start
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    REPLY,
)


@pytest.mark.covers("mindie/answers", "chat, streamed")
async def test_chat_stream(start: Start) -> None:
    running = await start("vendors: {mindie: {full_text: true}}\n" + REPLY)
    *rows, done = (await running.ask("mindie", CHAT, {"model": MODEL, "messages": HELLO, "stream": True})).events()
    assert done == "[DONE]"
    texts = [row["choices"][0]["delta"]["content"] for row in rows]
    assert texts == ["", " one", " one two", " one two three", " one two three"]
    assert list(rows[-1]) == ["id", "object", "created", "model", "full_text", "usage", "choices"]
    assert all("usage" not in row for row in rows[:-1])
