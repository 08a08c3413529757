"""The vendor ``openvino``: the REST port of OpenVINO Model Server, releases 2024.2 to 2026.3.

Docstrings here have its words: a servable is whatever it serves by a name. A classic model takes and returns tensors. A
graph is a MediaPipe pipeline, such as one that generates text; its calculators do the work and word most errors. An
omni graph takes and returns audio as well as text.
"""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of the OpenAI client; the client requires a key, the server none by default."""
    return {"OPENAI_BASE_URL": f"{url}/v3", "OPENAI_API_KEY": "unused"}
