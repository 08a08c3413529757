"""The vendor ``mindie``: MindIE Server, Huawei's inference server for Ascend processors.

Its routes have one of five forms: TGI's, vLLM's, OpenAI's, Triton's, or the server's native one. In a disaggregated
service prefill and decode run on different servers, its nodes, behind a proxy, the Coordinator.
"""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables that point TGI and OpenAI clients at ``url``."""
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "emulator"}
