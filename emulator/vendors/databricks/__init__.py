"""Databricks Foundation Model APIs and Model Serving."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of databricks-sdk, mlflow and litellm."""
    return {
        "DATABRICKS_HOST": url,
        "DATABRICKS_TOKEN": "dapi-emulator",
        "DATABRICKS_API_BASE": f"{url}/serving-endpoints",
        "DATABRICKS_API_KEY": "dapi-emulator",
    }
