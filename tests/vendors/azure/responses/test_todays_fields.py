"""Fields of responses as of today, and the versions that have them."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import accept

V1 = "/openai/v1/responses"
KEY = {"api-key": "k"}
DATED = "/openai/responses?api-version="


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", **fields}


@pytest.mark.parametrize(
    ("target", "options", "padded"),
    [
        (V1, None, True),
        (V1, {"include_obfuscation": True}, True),
        (V1, {"include_obfuscation": False}, False),
        (f"{DATED}2025-04-01-preview", None, False),
        (f"{DATED}2025-11-15-preview", None, True),
    ],
)
def test_deltas_are_padded(target: str, options: JSON, padded: bool) -> None:
    call = accept(ask(stream=True, stream_options=options), target)
    events = b"".join(data for _, data, _, _ in call.codec.stream(HELLO, REQUEST).events)
    assert (b'"obfuscation":"' in events) is padded


def test_echo_has_every_field() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    body = parse_json(accept(ask(tools=[tool], text={"verbosity": "medium"}), V1).codec.render(HELLO, REQUEST).body)
    assert body["tools"] == [{"type": "function", "description": None, **tool, "strict": True}]
    assert (body["frequency_penalty"], body["presence_penalty"]) == (0.0, 0.0)
    assert body["text"] == {"format": {"type": "text"}, "verbosity": "medium"}


async def test_listed_image_has_detail(start: Start) -> None:
    running = await start()
    image = {"type": "input_image", "image_url": "https://x/y.png"}
    body = ask(input=[{"role": "user", "content": [image]}])
    made = (await running.ask("azure", V1, body, headers=KEY)).json()
    listed = (await running.ask("azure", f"{V1}/{made['id']}/input_items", method="GET", headers=KEY)).json()
    assert listed["data"][0]["content"] == [{**image, "detail": "auto"}]
