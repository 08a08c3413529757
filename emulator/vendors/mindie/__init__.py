"""The vendor ``mindie``: MindIE Server, Huawei's inference server for Ascend processors."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables that point TGI and OpenAI clients at ``url``."""
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "emulator"}
