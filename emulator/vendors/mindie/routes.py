"""MindIE Server: Huawei's inference server for Ascend processors, as one listener serves all its planes.

Source: MindIE documentation, "text/stream inference", and MindIE-LLM, ``http_wrapper/http_handler.cpp``.
"""

from collections.abc import Mapping

from emulator.core.vendor import Endpoint, Service, Vendor, WireRequest
from emulator.vendors.mindie.errors import render_error
from emulator.vendors.mindie.generate import parse_generate_stream, parse_root
from emulator.vendors.mindie.settings import MindieSettings, list_deployments
from emulator.vendors.mindie.vllm import parse_generate

MEGABYTE = 1024**2


def authenticate(request: WireRequest, service: Service[MindieSettings]) -> str:
    """Everyone is let in: the server knows no keys and ignores any it is sent."""
    return "default"


def environment(url: str) -> Mapping[str, str]:
    """What clients of TGI and of OpenAI read."""
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "emulator"}


VENDOR = Vendor(
    name="mindie",
    title="Huawei Ascend MindIE",
    endpoints=(
        Endpoint(method="POST", path="/", parse=parse_root),
        Endpoint(method="POST", path="/generate", parse=parse_generate),
        Endpoint(method="POST", path="/generate_stream", parse=parse_generate_stream),
    ),
    settings=MindieSettings,
    catalogue=list_deployments,  # type: ignore[arg-type]
    authenticate=authenticate,
    render_error=render_error,
    environment=environment,
    body_limit=40 * MEGABYTE,
    date=False,
)
