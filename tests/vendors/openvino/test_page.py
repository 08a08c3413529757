"""Scenario of this vendor's documentation page."""

import base64
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from struct import unpack

import yaml

from emulator.vendors.openvino.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON
from tests.vendors.forms import HEADERS, make_form
from tests.vendors.openvino.media.forms import WAV

_ROOT = Path(__file__).parents[3]
_PAGE = (_ROOT / "docs" / "openvino.md").read_text(encoding="utf-8")
_SCENARIO = _PAGE.split("```yaml\n")[1].split("```")[0]
Start = Callable[..., Awaitable[Running]]


async def test_page_scenario_serves_every_model(start: Start) -> None:
    running = await start(_SCENARIO, vendors=(VENDOR,))

    async def ask(path: str, body: JSON, **others: JSON) -> JSON:
        answer = await running.ask("openvino", path, body, **others)
        assert answer.status == 200, answer.body
        return answer

    message = [{"role": "user", "content": "Hi"}]
    for model in ("chat", "raw", "draft", "sees", "talks"):
        fields = {"model": model, "messages": message, "max_tokens": 3}
        assert json.loads((await ask("/v3/chat/completions", fields)).body)["choices"]
    drawn = json.loads((await ask("/v3/images/generations", {"model": "draws", "prompt": "a cat"})).body)
    assert unpack(">II", base64.b64decode(drawn["data"][0]["b64_json"])[16:24]) == (64, 32)
    said = await ask("/v3/audio/speech", {"model": "speaks", "voice": "alloy", "input": "Hello"})
    assert said.body[:4] == b"RIFF"
    form = make_form(("model", "listens"), ("file", WAV), ("timestamp_granularities[]", "word"))
    assert json.loads((await ask("/v3/audio/transcriptions", form, headers=HEADERS)).body)["words"]
    inputs = [{"name": "image", "datatype": "FP32", "shape": [1, 3, 2, 2], "data": [0] * 12}]
    found = json.loads((await ask("/v2/models/resnet/infer", {"inputs": inputs})).body)
    assert found["outputs"][0]["data"] == [0.5, 0.25, 0.125, 0.125]
    page = (await running.ask("openvino", "/metrics", method="GET")).body
    assert (
        b'ovms_requests_success{api="KServe",interface="REST",method="ModelInfer",name="resnet",version="1"} 1' in page
    )


def test_page_names_only_vendor_traits() -> None:
    code = [path.read_text(encoding="utf-8") for path in (_ROOT / "emulator" / "vendors" / "openvino").rglob("*.py")]
    names = set(re.findall(r'"([\w-]+)"', "".join(code).lower()))
    rows = [line.split(" | ")[-1] for line in _PAGE.splitlines() if line.startswith("| `")]
    assert {word.split(":")[0] for row in rows for word in row.split("`")[1::2]} <= names


def test_page_scenario_is_yaml() -> None:
    assert len(yaml.safe_load(_SCENARIO)["deployments"]) == 9
