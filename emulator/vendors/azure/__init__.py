"""The vendor ``azure``: serverless and managed endpoints, Foundry resources, Azure OpenAI deployments.

The path of a request selects the service (``url_kind.py``), and with it the profile, in docstrings also the dialect:
the form of its responses and errors. A container is the FastAPI server that runs a model behind a serverless
(``maas``) or managed endpoint.
"""

from collections.abc import Mapping

_KEY = "emulator"
_VERSION = "2024-10-21"


def environment(url: str) -> Mapping[str, str]:
    """Return the environment variables of Azure OpenAI's and Model Inference's clients.

    Sources: openai and langchain-openai (``AZURE_OPENAI_*``, ``OPENAI_API_VERSION``), litellm (``AZURE_API_*``,
    ``AZURE_AI_API_*``), azure-ai-inference's samples (``AZURE_AI_*_ENDPOINT``, ``AZURE_AI_*_KEY``), langchain-azure-ai
    (``AZURE_AI_INFERENCE_*``, ``AZURE_AI_PROJECT_ENDPOINT``; before 1.0 ``AZURE_INFERENCE_*``), anthropic
    (``ANTHROPIC_FOUNDRY_*``).
    """
    kinds = ("", "_CHAT", "_EMBEDDINGS", "_IMAGE_EMBEDDINGS")
    return {
        "AZURE_OPENAI_ENDPOINT": url,
        "AZURE_OPENAI_API_KEY": _KEY,
        "OPENAI_API_VERSION": _VERSION,
        "AZURE_OPENAI_API_VERSION": _VERSION,
        "AZURE_API_BASE": url,
        "AZURE_API_KEY": _KEY,
        "AZURE_API_VERSION": _VERSION,
        "AZURE_AI_API_BASE": f"{url}/openai/v1",
        "AZURE_AI_API_KEY": _KEY,
        **{f"AZURE_AI{kind}_ENDPOINT": url for kind in kinds},
        **{f"AZURE_AI{kind}_KEY": _KEY for kind in kinds},
        "AZURE_INFERENCE_ENDPOINT": url,
        "AZURE_INFERENCE_CREDENTIAL": _KEY,
        "AZURE_AI_INFERENCE_ENDPOINT": url,
        "AZURE_AI_INFERENCE_CREDENTIAL": _KEY,
        "AZURE_AI_INFERENCE_API_KEY": _KEY,
        "AZURE_AI_PROJECT_ENDPOINT": f"{url}/api/projects/emulator",
        "ANTHROPIC_FOUNDRY_BASE_URL": f"{url}/anthropic/",
        "ANTHROPIC_FOUNDRY_API_KEY": _KEY,
    }
