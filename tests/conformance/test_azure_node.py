"""Clients of Node against a running emulator, where Node and they are installed.

``npm install openai @azure-rest/ai-inference @azure/core-auth @azure/core-sse`` in some folder, and ``NODE_PATH`` names
its ``node_modules``.
"""

import json
import os
import subprocess

import pytest

from tests.http_client import Running
from tests.node import NODE, find_reason
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CLIENTS = {"test_openai": "openai (Node)", "test_inference": "@azure-rest/ai-inference (Node)"}
PACKAGES = ("openai", "@azure-rest/ai-inference", "@azure/core-auth", "@azure/core-sse")
OPENAI = """
const { OpenAI, AzureOpenAI } = require('openai');
const client = new OpenAI({ baseURL: `${url}/openai/v1/`, apiKey: key, maxRetries: 0 });
const azure = new AzureOpenAI({ endpoint: url, apiKey: key, apiVersion: '2024-10-21', maxRetries: 0 });
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };
"""
INFERENCE = """
const { default: create, isUnexpected } = require('@azure-rest/ai-inference');
const { AzureKeyCredential } = require('@azure/core-auth');
const { createSseStream } = require('@azure/core-sse');
const open = (base) => create(base, new AzureKeyCredential(key), { allowInsecureConnection: true });
const client = open(url);
const messages = [{ role: 'user', content: 'Hello' }];
"""


@pytest.fixture(autouse=True)
def _installed() -> None:
    if reason := find_reason(*PACKAGES):
        pytest.skip(reason)


def run(script: str, url: str = "", key: str = "") -> JSON:
    """What a script returns."""
    assert NODE is not None
    head = f"const url = {json.dumps(url)}, key = {json.dumps(key)};\n"
    body = f"(async () => {{ {script} }})().then((found) => console.log(JSON.stringify(found ?? null)))"
    done = subprocess.run([NODE, "-e", head + body], capture_output=True, text=True, timeout=60, env={**os.environ})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask(live: Running, script: str) -> JSON:
    return run(script, live.urls["azure"], live.key("k"))


def test_openai_chat(live: Running) -> None:
    script = (
        "const a = await client.chat.completions.create(hello); const b = await azure.chat.completions.create(hello);"
    )
    first, second = ask(live, OPENAI + script + "return [a, b]")
    assert first["choices"][0]["message"]["content"]
    assert (first["object"], second["object"]) == ("chat.completion", "chat.completion")


def test_openai_stream(live: Running) -> None:
    script = """
    const stream = client.chat.completions.stream({ ...hello, stream_options: { include_usage: true } });
    let said = '';
    for await (const chunk of stream) said += chunk.choices[0]?.delta?.content ?? '';
    return [said, await stream.finalChatCompletion(), await stream.totalUsage()]
    """
    said, whole, usage = ask(live, OPENAI + script)
    assert said == whole["choices"][0]["message"]["content"]
    assert usage["total_tokens"] > usage["completion_tokens"] > 0


def test_openai_tools(live: Running) -> None:
    script = """
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const runner = client.chat.completions.runTools({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools: [{ type: 'function', function: {
        name: 'get_weather', parameters, parse: JSON.parse, function: ({ city }) => `Rain over ${city}` } }],
    });
    return await runner.finalContent()
    """
    assert "Rain over Paris" in ask(live, OPENAI + script)


def test_openai_responses(live: Running) -> None:
    script = """
    const made = await client.responses.create({ model: 'gpt-4o', input: 'Hello' });
    const kept = await client.responses.retrieve(made.id);
    const stream = client.responses.stream({ model: 'gpt-4o', input: 'And now?', previous_response_id: made.id });
    const whole = await stream.finalResponse();
    await client.responses.delete(made.id);
    return [made.output_text, kept.output_text, whole.previous_response_id === made.id]
    """
    made, kept, goes_on = ask(live, OPENAI + script)
    assert (made == kept != "", goes_on) == (True, True)


def test_openai_embeddings(live: Running) -> None:
    script = "return await client.embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'b'] })"
    found = ask(live, OPENAI + script)["data"]
    assert [len(each["embedding"]) for each in found] == [1536, 1536]


def test_openai_models(live: Running) -> None:
    script = "const ids = []; for await (const model of client.models.list()) ids.push(model.id); return ids"
    assert "gpt-4o" in ask(live, OPENAI + script)


def test_openai_errors(live: Running) -> None:
    script = """
    try { await client.chat.completions.create({ ...hello, temperature: 3 }) }
    catch (error) { return [error.constructor.name, error.status, error.param] }
    """
    assert ask(live, OPENAI + script) == ["BadRequestError", 400, "temperature"]


def test_inference_chat(live: Running) -> None:
    script = """
    const answer = await client.path('/chat/completions').post({ body: { messages } });
    return [isUnexpected(answer), answer.status, answer.body]
    """
    unexpected, status, body = ask(live, INFERENCE + script)
    assert (unexpected, status, bool(body["choices"][0]["message"]["content"])) == (False, "200", True)


@pytest.mark.covers("azure/traps", "Node's stream")
def test_inference_stream(live: Running) -> None:
    script = """
    const answer = await client.path('/chat/completions').post({ body: { messages, stream: true } }).asNodeStream();
    let said = '', usage = null;
    for await (const event of createSseStream(answer.body)) {
      if (event.data === '[DONE]') return [said, usage];
      const chunk = JSON.parse(event.data);
      said += chunk.choices[0]?.delta?.content ?? '';
      usage = chunk.usage ?? usage;
    }
    """
    said, usage = ask(live, INFERENCE + script)
    assert (bool(said), usage["completion_tokens"] > 0) == (True, True)


def test_inference_embeddings(live: Running) -> None:
    script = """
    const answer = await open(`${url}/endpoints/embed-v-4-0`).path('/embeddings').post({ body: { input: ['a'] } });
    const info = await open(`${url}/endpoints/embed-v-4-0`).path('/info').get();
    return [answer.body.data[0].embedding.length, info.body.model_type]
    """
    length, kind = ask(live, INFERENCE + script)
    assert (length > 100, kind) == (True, "embedding")


@pytest.mark.covers("azure/traps", "Node's statuses")
def test_inference_errors(live: Running) -> None:
    script = """
    const answer = await client.path('/chat/completions').post({ body: { messages, top_p: 5 } });
    return [isUnexpected(answer), answer.status, answer.body.code]
    """
    assert ask(live, INFERENCE + script) == [True, "422", "parameter_not_supported"]
