"""Files that the tools themselves wrote, replayed to the client that made them; see ``files/README.md``.

LiteLLM sends what this client does; itself it takes a minute without a network.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from emulator import start
from emulator.imports.files import read_files, write_found

pytestmark = pytest.mark.slow
FILES = Path(__file__).parent / "files"
SECRET = "dapi0123456789abcdef0123456789abcdef"
WEATHER: Any = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
VENDORS = {"azure": "/openai/v1", "databricks": "/serving-endpoints"}
EMBEDDER = [{"vendor": name, "name": "embed", "task": "embeddings", "dimensions": 8} for name in VENDORS]
DATABRICKS = [
    "Let us take the guide as",
    "Broadly speaking, the proposal and",
    '{"city":"Oslo"}',
    "refused",
    "0.3156",
]
AZURE = ["The main point is simple:", "Both options work well, but the helpful", *DATABRICKS[2:]]
LOGGED = ["The answer has changed since September", *DATABRICKS[1:]]


def say(text: str, *system: str) -> Any:
    return [*({"role": "system", "content": each} for each in system), {"role": "user", "content": text}]


def ask_openai(base: str, model: str, *system: str) -> Iterator[str]:
    """What the client makes of five calls: a whole answer, a stream, a tool call, an error, an embedding."""
    import openai

    client = openai.OpenAI(base_url=base, api_key=SECRET, max_retries=0)
    chat = client.chat.completions.create
    yield chat(model=model, messages=say("Name a tide.", *system), max_tokens=6).choices[0].message.content or ""
    stream = chat(model=model, messages=say("Name a river."), stream=True, max_tokens=8)
    yield "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    called = chat(model=model, messages=say("The weather in Oslo?"), tools=[WEATHER])
    for call in called.choices[0].message.tool_calls or ():
        yield call.function.arguments if call.type == "function" else ""
    with pytest.raises(openai.RateLimitError, match=r"Too many requests\."):
        chat(model=model, messages=say("slow down"))
    yield "refused"
    yield f"{client.embeddings.create(model='embed', input='one text').data[0].embedding[0]:.4f}"


LLAMA = "databricks-meta-llama-3-3-70b-instruct"


@pytest.mark.parametrize(
    ("name", "vendor", "model", "said", "lost"),
    [
        pytest.param(
            "pytest-recording.yaml",
            "databricks",
            LLAMA,
            DATABRICKS,
            ["pytest-recording.yaml: vcrpy keeps no times: the events of 1 streams are all due at once"],
            id="pytest-recording",
        ),
        pytest.param("mockserver.json", "azure", "gpt-4o", AZURE, [], id="MockServer"),
        pytest.param(
            "aimock",
            "azure",
            "gpt-4o",
            AZURE,
            ["response.error: its code, type are those of the vendor"],
            id="aimock",
        ),
        pytest.param(
            "llmposter.yaml",
            "azure",
            "gpt-4o",
            AZURE[:3],
            [f"llmposter.yaml: fixtures[{number}]: provider: there is nothing like it" for number in range(3)],
            id="llmposter, which records no errors and vectors",
        ),
        pytest.param(
            "litellm.jsonl",
            "databricks",
            LLAMA,
            LOGGED,
            ["litellm.jsonl:2: LiteLLM logs no events: the answer is one piece at the time of its first token"],
            id="LiteLLM",
        ),
        pytest.param(
            "chromium.har",
            "databricks",
            LLAMA,
            LOGGED[:2],
            ["chromium.har: HAR has no times of events: those of 1 streams are due with the first byte"],
            id="HAR of Chromium",
        ),
    ],
)
def test_files_of_real_tools_answer_their_clients(
    name: str, vendor: str, model: str, said: list[str], lost: list[str], tmp_path: Path
) -> None:
    found = read_files([FILES / name])
    assert [line.partition("]: ")[2] if name == "aimock" else line for line in found.lost] == lost
    write_found(found, tmp_path)
    assert SECRET not in "".join(file.read_text(encoding="utf-8") for file in tmp_path.iterdir())
    scenario: dict[str, Any] = {"deployments": EMBEDDER}
    if found.exchanges:
        scenario["replay"] = {"from": str(tmp_path), "timing": "none"}
    rules = [str(tmp_path / "imported.yaml")] if found.rules else []
    with start(*rules, **scenario) as emulator:
        system = () if said[0] == LOGGED[0] else ("Be brief.",)
        steps = ask_openai(emulator.url(vendor) + VENDORS[vendor], model, *system)
        assert list(islice(steps, len(said))) == said
