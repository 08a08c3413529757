"""Hugging Face's client for Node, ``@huggingface/inference``, against TGI and MindIE.

It is tried where ``node`` is installed and finds the package, on ``NODE_PATH`` or above this folder.
"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.http_client import Running
from tests.node import NODE, find_reason
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CLIENT = "@huggingface/inference"

PROMPT = "Tell me about the harbour"
HELLO = [{"role": "user", "content": "Hello"}]
PROGRAM = """
const { InferenceClient } = require("@huggingface/inference");
const [url, key, method, given] = process.argv.slice(1);
(async () => {
  const client = new InferenceClient(key, { endpointUrl: url });
  const answers = [];
  try {
    if (method.endsWith("Stream")) {
      for await (const event of client[method](JSON.parse(given))) answers.push(event);
    } else {
      answers.push(await client[method](JSON.parse(given)));
    }
    console.log(JSON.stringify({ answers }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message, status: error.httpResponse?.status }));
  }
})();
"""


def run_node(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    folder = Path(__file__).parent
    return subprocess.run([NODE, "-e", *arguments], capture_output=True, text=True, check=False, timeout=60, cwd=folder)


if REASON := find_reason(CLIENT):
    pytest.skip(REASON, allow_module_level=True)


@pytest.fixture(params=["tgi port", "tgi front"])
def url(request: pytest.FixtureRequest, live: Running) -> str:
    vendor, way = request.param.split()
    return live.urls[vendor] if way == "port" else live.front(vendor)


def ask(live: Running, url: str, method: str, **given: JSON) -> JSON:
    """What the client makes of the answer: ``answers``, or ``error`` and ``status``."""
    return json.loads(run_node(PROGRAM, url, live.key("hf-x"), method, json.dumps(given)).stdout)


def test_text(live: Running, url: str) -> None:
    (answer,) = ask(live, url, "textGeneration", inputs=PROMPT, parameters={"max_new_tokens": 5})["answers"]
    assert answer["generated_text"]


def test_text_stream(live: Running, url: str) -> None:
    rows = ask(live, url, "textGenerationStream", inputs=PROMPT, parameters={"max_new_tokens": 5})["answers"]
    assert rows[-1]["usage"]["completion_tokens"] == 5
    assert "".join(row["choices"][0]["text"] for row in rows)


def test_chat(live: Running, url: str) -> None:
    given = {"model": "tgi", "messages": HELLO, "max_tokens": 5}
    (whole,) = ask(live, url, "chatCompletion", **given)["answers"]
    chunks = ask(live, url, "chatCompletionStream", **given)["answers"]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_invalid_parameter_is_rejected(live: Running, url: str) -> None:
    reported = ask(live, url, "textGeneration", inputs=PROMPT, parameters={"top_p": 2})
    assert (reported["status"], "`top_p` must be > 0.0 and < 1.0" in reported["error"]) == (422, True)


def test_text_on_mindie(live: Running) -> None:
    (answer,) = ask(
        live, live.urls["mindie"], "textGeneration", model="llama_65b", inputs=PROMPT, parameters={"max_new_tokens": 5}
    )["answers"]
    assert answer["generated_text"]
