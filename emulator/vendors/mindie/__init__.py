"""Huawei Ascend MindIE."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """What clients of TGI and of OpenAI read."""
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "emulator"}
