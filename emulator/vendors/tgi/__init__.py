"""The vendor ``tgi``: Hugging Face text-generation-inference."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "-"}
