"""The vendor ``databricks``: Foundation Model APIs and Model Serving.

An endpoint serves one model or several, its served entities, of which one answers a request. The family of its model,
such as Claude or GPT, decides which fields a request may have, and in which form the response is.
"""

from collections.abc import Mapping

_TOKEN = "dapi-emulator"


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of databricks-sdk, mlflow, litellm, openai and anthropic."""
    return {
        "DATABRICKS_HOST": url,
        "DATABRICKS_TOKEN": _TOKEN,
        "DATABRICKS_API_BASE": f"{url}/serving-endpoints",
        "DATABRICKS_API_KEY": _TOKEN,
        "OPENAI_BASE_URL": f"{url}/serving-endpoints",
        "OPENAI_API_KEY": _TOKEN,
        "ANTHROPIC_BASE_URL": f"{url}/serving-endpoints/anthropic",
        "ANTHROPIC_AUTH_TOKEN": _TOKEN,
    }
