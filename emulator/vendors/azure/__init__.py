"""Azure AI Model Inference: serverless and managed endpoints, Foundry resources, Azure OpenAI deployments."""

from collections.abc import Mapping


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of Microsoft's own samples."""
    return {"AZURE_AI_CHAT_ENDPOINT": url, "AZURE_AI_EMBEDDINGS_ENDPOINT": url, "AZURE_AI_ENDPOINT": url}
