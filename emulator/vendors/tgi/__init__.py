"""The vendor ``tgi``: Hugging Face text-generation-inference.

Docstrings here have its words: the launcher starts a router, which speaks HTTP and validates requests, and a model
server behind it, which generates tokens. A request takes a place while the router runs it.
"""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "-"}
