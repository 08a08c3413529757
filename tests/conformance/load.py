"""What load clients keep of a stream: vLLM's serving benchmark, its older form, and guidellm.

The loops keep to the fields that those clients read and to how they cut a stream up, not to their code.
"""

import json
from dataclasses import dataclass

import aiohttp

from tests.untyped_json import JSON


@dataclass
class Reading:
    """What a load client keeps of one stream."""

    text: str = ""
    pieces: int = 0
    done: bool = False
    completion_tokens: int | None = None
    prompt_tokens: int | None = None


def find_text(choice: JSON) -> str:
    """The text of a chunk's choice, chat (``delta.content``) or completion (``text``)."""
    found = choice["delta"].get("content") if "delta" in choice else choice.get("text")
    return found or ""


def keep_usage(reading: Reading, usage: JSON) -> None:
    reading.completion_tokens = usage.get("completion_tokens")
    reading.prompt_tokens = usage.get("prompt_tokens")


async def read_as_vllm(response: aiohttp.ClientResponse) -> Reading:
    """``vllm bench serve``: stripped reads, cut at blank lines or where the rest is JSON; usage has no choices."""
    reading, rest = Reading(), ""
    async for read in response.content.iter_any():
        rest += read.strip().decode()
        *messages, rest = rest.split("\n\n")
        tail = rest.removeprefix("data: ").strip()
        if tail == "[DONE]" or is_json(tail):
            messages, rest = [*messages, rest], ""
        for message in messages:
            take_as_vllm(reading, message.strip())
    return reading


def take_as_vllm(reading: Reading, message: str) -> None:
    if not message or message.startswith(":"):
        return
    data = message.removeprefix("data: ")
    if data == "[DONE]":
        reading.done = True
        return
    chunk: JSON = json.loads(data)
    if choices := chunk.get("choices"):
        reading.pieces += 1
        reading.text += find_text(choices[0])
    elif usage := chunk.get("usage"):
        keep_usage(reading, usage)


async def read_as_older_vllm(response: aiohttp.ClientResponse) -> Reading:
    """``benchmark_serving.py``: line by line, and every chunk has a choice."""
    reading = Reading()
    async for line in response.content:
        data = line.strip().decode().removeprefix("data: ")
        if data == "[DONE]":
            reading.done = True
        elif data:
            choice: JSON = json.loads(data)["choices"][0]
            reading.pieces += 1
            reading.text += find_text(choice)
    return reading


async def read_as_guidellm(response: aiohttp.ClientResponse) -> Reading:
    """guidellm: line by line, ``error`` ends it badly, usage on any chunk, the last one wins."""
    reading = Reading()
    async for line in response.content:
        text = line.strip().decode()
        if text == "data: [DONE]":
            reading.done = True
            break
        if not text.startswith("data:"):
            continue
        chunk: JSON = json.loads(text.removeprefix("data:").strip())
        assert "error" not in chunk
        if found := find_text(chunk["choices"][0]) if chunk.get("choices") else "":
            reading.pieces += 1
            reading.text += found
        if usage := chunk.get("usage"):
            keep_usage(reading, usage)
    return reading


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
