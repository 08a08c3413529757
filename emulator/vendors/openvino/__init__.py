"""The vendor ``openvino``: the REST port of OpenVINO Model Server, releases 2024.2 to 2026.3."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of the OpenAI client; the client requires a key, the server none by default."""
    return {"OPENAI_BASE_URL": f"{url}/v3", "OPENAI_API_KEY": "unused"}
