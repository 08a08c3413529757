"""OpenVINO Model Server without a network: parsers and error rendering only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from emulator.core.calls import InferenceCall
from emulator.core.clock import FrozenClock
from emulator.core.http import Response
from emulator.core.requests import Sampling
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service
from emulator.scenario.models import DeploymentEntry, Key, Scenario
from emulator.vendors.openvino.profile import OpenVinoService
from emulator.vendors.openvino.routes import VENDOR
from emulator.vendors.openvino.settings import OpenVinoSettings
from tests.untyped_json import JSON
from tests.vendors import client

CHAT = "/v3/chat/completions"
COMPLETIONS = "/v3/completions"
BASE: Mapping[str, JSON] = {
    "model": "llama3",
    "max_tokens": 1,
    "messages": [{"role": "user", "content": "What is OpenVINO?"}],
}
PROMPT: Mapping[str, JSON] = {"model": "llama3", "max_tokens": 1, "prompt": "What is OpenVINO?"}

_EXTRA = (
    DeploymentEntry(vendor="openvino", name="draft", kind="speculative"),
    DeploymentEntry(vendor="openvino", name="net", kind="classic"),
    DeploymentEntry(
        vendor="openvino",
        name="dummy",
        kind="classic",
        traits={"inputs": [{"name": "b", "shape": [1, 4]}], "outputs": [{"name": "a", "shape": [1, 3]}], "nireq": 2},
    ),
    DeploymentEntry(
        vendor="openvino",
        name="pair",
        kind="classic",
        traits={
            "inputs": [
                {"name": "ids", "datatype": "INT64", "shape": [-1, 2]},
                {"name": "mask", "datatype": "BOOL", "shape": [-1, 2]},
            ],
            "outputs": [
                {"name": "label", "datatype": "BYTES", "shape": [-1]},
                {"name": "score", "datatype": "INT32", "shape": [-1, 2]},
            ],
        },
    ),
    DeploymentEntry(
        vendor="openvino",
        name="sees",
        kind="classic",
        traits={"inputs": [{"name": "in", "shape": [1, 2, 2, 3]}], "outputs": [{"name": "out", "shape": [1, 2]}]},
    ),
    DeploymentEntry(
        vendor="openvino",
        name="reads",
        kind="classic",
        traits={
            "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
            "outputs": [{"name": "n", "shape": [1]}],
        },
    ),
    DeploymentEntry(vendor="openvino", name="slow-net", kind="classic", state="loading"),
    DeploymentEntry(vendor="openvino", name="image", kind="other"),
    DeploymentEntry(vendor="openvino", name="eyes", kind="vision"),
    DeploymentEntry(vendor="openvino", name="ears", kind="omni"),
    DeploymentEntry(vendor="openvino", name="draws", kind="image", traits={"max_num_images_per_prompt": 4}),
    DeploymentEntry(vendor="openvino", name="fills", kind="image", traits={"pipelines": ["inpainting"]}),
    DeploymentEntry(vendor="openvino", name="speaks", kind="tts", traits={"voices": ["alloy"]}),
    DeploymentEntry(vendor="openvino", name="listens", kind="stt", traits={"enable_word_timestamps": True}),
    DeploymentEntry(vendor="openvino", name="hears", kind="stt", traits={"loopback": False}),
    DeploymentEntry(vendor="openvino", name="loading", state="loading"),
    DeploymentEntry(vendor="openvino", name="retired", state="retired"),
    DeploymentEntry(vendor="openvino", name="stock", kind="text", traits={"chat_template": "stock"}),
    DeploymentEntry(vendor="openvino", name="thinker", kind="text", traits={"reasoning": True}),
    DeploymentEntry(
        vendor="openvino", name="bare", traits={"reasoning": True, "tool_parser": "none", "reasoning_parser": None}
    ),
    DeploymentEntry(vendor="openvino", name="hermes", traits={"tool_parser": "hermes3"}),
    DeploymentEntry(vendor="openvino", name="qwen", tokenizer="qwen2", traits={"tool_parser": False}),
    DeploymentEntry(vendor="openvino", name="short", kind="text", context=40),
    DeploymentEntry(vendor="openvino", name="npu", kind="text", traits={"max_prompt_len": 20}),
    DeploymentEntry(vendor="openvino", name="batch", kind="text", traits={"max_num_batched_tokens": 20}),
    DeploymentEntry(vendor="openvino", name="my/graph", kind="text", traits={"node_name": "llmNode1"}),
    DeploymentEntry(
        vendor="openvino", name="small", task="rerank", kind="rerank", context=32, traits={"max_allowed_chunks": 4}
    ),
    DeploymentEntry(vendor="openvino", name="few", task="rerank", kind="rerank", traits={"max_allowed_chunks": 4}),
)


def failure(reason: str, node: str = "LLMExecutor", word: str = "INVALID_ARGUMENT") -> str:
    """Build the report of a failed calculator as it is sent."""
    return (
        f"Mediapipe execution failed. MP status - {word}: CalculatorGraph::Run() failed: \n"
        f'Calculator::Process() for node "{node}" failed: {reason}'
    )


def not_json(reason: str) -> str:
    return f"The file is not valid json - {reason}"


@dataclass(frozen=True)
class Refusal:
    status: int
    error: str


@dataclass(frozen=True, eq=False)
class Server:
    """Server of one release."""

    service: OpenVinoService

    def send(
        self,
        path: str = CHAT,
        body: JSON = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> InferenceCall | Response:
        """Return the parsed call, the response, or the rendered error."""
        return client.send(VENDOR, self.service, client.make_request(path, body, headers, method))

    def call(self, body: JSON, path: str = CHAT) -> InferenceCall:
        """Return the call of a valid request."""
        answer = self.send(path, body)
        assert isinstance(answer, InferenceCall), answer.body
        return answer

    def sampling(self, path: str = CHAT, **fields: JSON) -> Sampling:
        """Return the sampling of a request with these fields."""
        ask = self.call({**(BASE if path == CHAT else PROMPT), **fields}, path).request
        assert ask.task != "embeddings"
        return ask.sampling

    def refusal(self, body: JSON = None, path: str = CHAT, **kwargs: JSON) -> Refusal | None:
        """Return status and text of the error; ``None`` if the request is accepted."""
        answer = self.send(path, body, **kwargs)
        if isinstance(answer, InferenceCall) or answer.status < 300:
            return None
        return Refusal(answer.status, json.loads(answer.body)["error"])


def make_server(
    profile: str = "seed",
    *,
    keys: Mapping[str, str] | None = None,
    deployments: Sequence[DeploymentEntry] = (),
    **switches: JSON,
) -> Server:
    settings = OpenVinoSettings.model_validate({"profile": profile, **switches})
    scenario = Scenario(version=1, deployments=(*_EXTRA, *deployments))
    if keys is not None:
        tokens = tuple(Key(token=token, principal=name) for token, name in keys.items())
        scenario = Scenario(version=1, deployments=_EXTRA, keys=tokens)
    return Server(create_service(VENDOR, settings, scenario, FrozenClock(), VendorMetrics()))


def without(server: Server, *names: str) -> Server:
    """Return the same server with fewer servables."""
    kept = {name: d for name, d in server.service.deployments.items() if name not in names}
    return Server(replace(server.service, deployments=kept))


SEED = make_server("seed")
LATEST = make_server("latest")
