"""Parsing of chat requests."""

import json

from emulator.core.requests import ChatRequest
from tests.vendors.tgi.direct import CHAT, HELLO, accept, refuse


def test_validation_error_in_stream() -> None:
    answer = refuse(CHAT, {"messages": HELLO, "stream": True, "top_p": 1.0})
    text = "Input validation error: `top_p` must be > 0.0 and < 1.0"
    event = json.dumps({"error": {"message": text, "http_status_code": 422}}, separators=(",", ":"))
    assert (answer.status, answer.body.decode()) == (200, f"data: {event}\n\ndata: [DONE]\n\n")


def test_only_temperature_zero_is_greedy() -> None:
    for temperature, greedy in ((0, True), (None, False), (0.5, False)):
        ask = accept(CHAT, {"messages": HELLO, "temperature": temperature}).request
        assert isinstance(ask, ChatRequest)
        assert ask.sampling.greedy is greedy
