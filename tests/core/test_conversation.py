"""Prompt and messages of a recorded body, in every dialect."""

import pytest

from emulator.core.conversation import find_prompt, list_messages
from emulator.core.json import JSON

USER: JSON = {"role": "user", "content": "Hi"}
PARTS: JSON = {"role": "user", "content": [{"type": "text", "text": "H"}, {"type": "input_text", "text": "i"}]}


@pytest.mark.parametrize(
    ("body", "prompt", "count"),
    [
        pytest.param({"messages": [USER, {"role": "assistant", "content": "No"}]}, "Hi", 2, id="chat"),
        pytest.param({"messages": [PARTS]}, "Hi", 1, id="parts"),
        pytest.param({"input": [PARTS]}, "Hi", 1, id="items of a Response"),
        pytest.param({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "Hi", 1, id="contents"),
        pytest.param({"input": "Hi"}, "Hi", 0, id="an input"),
        pytest.param({"input": ["Ho", "Hi"]}, "Hi", 0, id="inputs"),
        pytest.param({"prompt": "Hi"}, "Hi", 0, id="a prompt"),
        pytest.param({"inputs": "Hi"}, "Hi", 0, id="inputs of TGI"),
        pytest.param({"messages": [{"role": "user", "content": None}]}, "", 1, id="no text"),
        pytest.param({"messages": 7}, None, 0, id="no list"),
        pytest.param("text", None, 0, id="no JSON"),
        pytest.param(None, None, 0, id="nothing"),
    ],
)
def test_prompt_and_messages(body: JSON, prompt: str | None, count: int) -> None:
    assert (find_prompt(body), len(list_messages(body))) == (prompt, count)
