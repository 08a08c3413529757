"""Databricks Foundation Model APIs and Model Serving, and the environment variables of its clients."""

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
