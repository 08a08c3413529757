"""OpenVINO Model Server, as the releases from 2024.2 to 2026.3 answer on their REST port."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """What the OpenAI client reads; the server asks for no key by default, the client for any."""
    return {"OPENAI_BASE_URL": f"{url}/v3", "OPENAI_API_KEY": "unused"}
