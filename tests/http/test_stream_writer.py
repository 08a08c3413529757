"""A stream without delays goes out in few writes, with the same bytes and journal entry."""

import pytest
from emulator.http.stream_writer import Sent, write_immediately

from emulator.core.clock import FrozenClock
from tests.conftest import Start

_INSTANT = "version: 1\nname: pump\nclock: instant\n"
_TEXT = "The tide turns.\\n" * 300  # more than 1024 tokens
_CALLS = {
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "mistral-small-2503"),
    "databricks": ("/serving-endpoints/chat/completions", "databricks-meta-llama-3-3-70b-instruct"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}


@pytest.mark.parametrize("tokens", [1, 40, 1500], ids=["one token", "some", "more than one write"])
@pytest.mark.parametrize("vendor", _CALLS)
async def test_pacing_changes_nothing_but_time(start: Start, vendor: str, tokens: int) -> None:
    path, model = _CALLS[vendor]
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": tokens, "stream": True}
    headers = {"Authorization": "Bearer k", "api-key": "k"}
    seen = []
    for latency in ("", "latency: {itl: 1us}\n"):
        served = await start(f"{_INSTANT}seed: 4\n{latency}rules: [{{name: r, reply: {{text: '{_TEXT}'}}}}]\n")
        answer = await served.ask(vendor, path, body, headers=headers)
        (entry,) = served.built.journal
        figures = (entry.status, entry.events, entry.bytes_out, entry.sent_tokens, entry.completion_tokens, entry.whole)
        assert entry.bytes_out == len(answer.body)
        seen.append((answer.head, answer.chunks, figures))
    assert seen[0] == seen[1]


class _Left:
    """Connection of a client that disconnected."""

    def is_closing(self) -> bool:
        return True


class _Request:
    transport = _Left()


async def test_nothing_was_sent_to_a_client_that_left_before() -> None:
    sent, ended = Sent(), list[bool]()
    batches = iter([(b"1\r\na\r\n", 1, 1)])
    whole = await write_immediately(_Request(), FrozenClock(), 0.0, b"", batches, sent, lambda: ended.append(True))  # type: ignore[arg-type]  # all it asks
    assert (whole, ended, sent) == (False, [], Sent(dues=[], lateness=[]))
