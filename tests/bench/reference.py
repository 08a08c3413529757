"""The floor to compare with: a bare aiohttp handler that validates with pydantic and encodes the same answer.

Run as ``python -m tests.bench.reference PORT_FILE``.
"""

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
from aiohttp import web
from pydantic import BaseModel
from pydantic_core import to_json


class Message(BaseModel):
    role: str
    content: str


class ChatRequest(BaseModel):
    model: str
    messages: list[Message]
    max_tokens: int | None = None
    stream: bool = False


class EmbeddingRequest(BaseModel):
    model: str
    input: str | list[str]
    encoding_format: str = "float"


TOKENS = [f" token{i % 97}" for i in range(4096)]
VECTORS = np.random.default_rng(7).standard_normal((64, 1024)).astype(np.float32)


async def chat(request: web.Request) -> web.StreamResponse:
    asked = ChatRequest.model_validate_json(await request.read())
    tokens = TOKENS[: asked.max_tokens or 64]
    usage = {"prompt_tokens": 12, "completion_tokens": len(tokens), "total_tokens": 12 + len(tokens)}
    if asked.stream:
        return await stream(request, asked.model, tokens)
    message = {"role": "assistant", "content": "".join(tokens)}
    choice = {"index": 0, "message": message, "finish_reason": "length", "logprobs": None}
    answer = {"id": "chatcmpl_1", "object": "chat.completion", "created": 1, "model": asked.model}
    return web.Response(body=to_json({**answer, "choices": [choice], "usage": usage}), content_type="application/json")


async def stream(request: web.Request, model: str, tokens: list[str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number, token in enumerate(tokens, start=1):
        choice = {"index": 0, "delta": {"content": token}, "finish_reason": None, "logprobs": None}
        usage = {"prompt_tokens": 12, "completion_tokens": number, "total_tokens": 12 + number}
        chunk = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1, "model": model}
        await response.write(b"data: " + to_json({**chunk, "choices": [choice], "usage": usage}) + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    return response


async def embeddings(request: web.Request) -> web.Response:
    asked = EmbeddingRequest.model_validate_json(await request.read())
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    rows = VECTORS[: len(texts)]
    data = [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
    answer = {"object": "list", "model": asked.model, "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return web.Response(body=to_json(answer), content_type="application/json")


async def serve(port_file: Path) -> None:
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/chat/completions", chat)
    app.router.add_post("/embeddings", embeddings)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port_file.write_text(json.dumps({"reference": f"http://127.0.0.1:{runner.addresses[0][1]}"}))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
