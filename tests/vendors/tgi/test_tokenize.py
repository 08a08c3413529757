"""Tokens of texts."""

from tests.conftest import Start
from tests.vendors.tgi.direct import HELLO


async def test_chat_tokenize(start: Start) -> None:
    answer = (await (await start()).ask("tgi", "/chat_tokenize", {"messages": HELLO})).json()
    assert list(answer) == ["tokenize_response", "templated_text"]
    assert "Hello" in answer["templated_text"]
    assert "".join(token["text"] for token in answer["tokenize_response"]) == answer["templated_text"]
