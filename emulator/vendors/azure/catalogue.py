"""The deployments that are served without a scenario, and what each can do.

Traits:
    vision, audio, tools, json, json_schema, penalties, dimensions, images: a feature; on unless ``False``.
    provider: who made the model; decides the form of tool calls' ids and, on Foundry, of answers.
    display: the name in ``/info``.
    reasoning: ``field`` or ``inline``: the model thinks aloud, in a field of its own or in its content.
    extras: ``accept``, ``refuse`` or ``refuse_bare`` what is passed through.
    encodings: of vectors. max_inputs: of one request.
"""

from collections.abc import Mapping

from emulator.core.call import Deployment, Task
from emulator.core.json import JSON
from emulator.vendors.azure.settings import AzureSettings

_OPENAI: Mapping[str, JSON] = {"provider": "OpenAI"}
_OPENAI_VECTORS: Mapping[str, JSON] = {**_OPENAI, "encodings": ["float", "base64"], "images": False}
_PLAIN: Mapping[str, JSON] = {"vision": False, "audio": False}
_MODEL_TYPES: Mapping[Task, str] = {
    "chat": "chat-completion",
    "embeddings": "embedding",
    "completions": "text-generation",
}


def _chat(name: str, tokenizer: str, context: int, max_output: int, traits: Mapping[str, JSON]) -> Deployment:
    return Deployment(
        vendor="azure", name=name, tokenizer=tokenizer, context=context, max_output=max_output, traits=traits
    )


def _embeddings(name: str, tokenizer: str, context: int, dimensions: int, traits: Mapping[str, JSON]) -> Deployment:
    return Deployment(
        vendor="azure",
        name=name,
        task="embeddings",
        tokenizer=tokenizer,
        context=context,
        dimensions=dimensions,
        traits=traits,
    )


_CATALOGUE = (
    _chat("mistral-small-2503", "mistral", 131072, 4096, {"provider": "Mistral", "audio": False}),
    _chat("mistral-large-2411", "mistral", 131072, 4096, {"provider": "Mistral", **_PLAIN}),
    _chat("Llama-3.3-70B-Instruct", "llama3", 131072, 8192, {"provider": "Meta", **_PLAIN}),
    _chat(
        "llama2-70b-chat",
        "llama2",
        4096,
        4096,
        {"provider": "Meta", **_PLAIN, "tools": False, "json": False, "json_schema": False, "extras": "refuse"},
    ),
    _chat("Phi-4-multimodal-instruct", "gpt", 131072, 4096, {"provider": "Microsoft", "json_schema": False}),
    _chat("gpt-4o-mini", "gpt", 128000, 16384, {**_OPENAI, "audio": False}),
    _chat("DeepSeek-R1", "qwen2", 131072, 32768, {"provider": "DeepSeek", **_PLAIN, "reasoning": "field"}),
    Deployment(
        vendor="azure",
        name="llama2-7b",
        task="completions",
        tokenizer="llama2",
        context=4096,
        max_output=4096,
        traits={"provider": "Meta"},
    ),
    _embeddings("embed-v-4-0", "xlmr", 131072, 1536, {"provider": "Cohere"}),
    _embeddings(
        "embed-english-v3.0",
        "bert",
        512,
        1024,
        {"provider": "Cohere", "display": "Cohere Embed v3 - English", "dimensions": False},
    ),
    _embeddings("text-embedding-3-small", "gpt", 8191, 1536, _OPENAI_VECTORS),
    _embeddings("text-embedding-3-large", "gpt", 8191, 3072, _OPENAI_VECTORS),
)


def list_deployments(settings: AzureSettings) -> tuple[Deployment, ...]:
    """The same models in every profile; the first of a task answers whoever names none."""
    return _CATALOGUE


def supports(deployment: Deployment, feature: str) -> bool:
    """Whether a deployment's model knows a feature."""
    return deployment.traits.get(feature) is not False


def is_openai(deployment: Deployment, settings: AzureSettings) -> bool:
    """Whether answers have Azure OpenAI's form: all of an ``aoai`` resource, some of a ``foundry`` one."""
    return settings.profile == "aoai" or (
        settings.profile == "foundry" and deployment.traits.get("provider") == "OpenAI"
    )


def model_name(deployment: Deployment) -> str:
    """The ``model`` of an answer."""
    return deployment.model or deployment.name


def describe(deployment: Deployment, settings: AzureSettings) -> JSON:
    """The body of ``GET /info``.

    Source: Azure/azure-sdk-assets, recorded ``/info`` answers; for managed endpoints
    Azure/azureml-assets, foundation/model/serve/api_server.py.
    """
    name = deployment.traits.get("display")
    info = {
        "model_name": name if isinstance(name, str) else model_name(deployment),
        "model_type": _MODEL_TYPES.get(deployment.task, "unknown"),
        "model_provider_name": str(deployment.traits.get("provider", "")),
    }
    if settings.profile == "managed":
        return {key: info[key] for key in ("model_type", "model_provider_name", "model_name")}
    if settings.profile == "maas" and deployment.task == "chat":
        return {**info, "served_model_name": model_name(deployment), "served_model_type": info["model_type"]}
    return info
