"""Load ``models.json``: the deployments served without a scenario, and traits by model name.

Sources: learn.microsoft.com, "Foundry Models sold directly by Azure", "Foundry Models from partners and community",
"Azure OpenAI reasoning models" (parameters), "Model inference API" (features); Azure/azure-sdk-assets (the first
serverless models); sizes from the prices and limits that LiteLLM keeps of them, else unverified.

The first model of a task answers requests that name none. A model takes the traits of its family that it does not
set itself; a scenario's own deployment takes those of the family that its name matches:

    like: the family to inherit from.
    named: name prefixes of the family, in lower case; the longest prefix wins.
    provider, tokenizer: the maker; a profile of the generator.
    parameters: name of a parameter set.
    vision, audio, tools, json, json_schema, penalties, dimensions, images: a feature; supported unless ``false``.
    speaks: supports audio output.
    edits: edits images. ``sizes``: of its images; any, if absent.
    audio_formats: of a transcript; ``streams``, ``logprobs``: its stream and log-probabilities; ``translates``: the
        model also translates; ``diarizes``: it names the speakers; ``detects``: it lists the languages.
    bills: ``seconds`` of sound, or tokens.
    voices: of a speech model; ``streams``: its speech comes as events, too.
    container: the model's server validates with pydantic and quotes its errors.
    reasoning: ``field`` or ``inline``: reasoning is in a field of its own or in the content.
    thinks: reasoning is hidden.
    roles: accepted message roles; any, if absent.
    api: ``anthropic`` or ``responses``: the only API of the model.
    fixed_sampling: sampling parameters are rejected.
    one_sampling: ``temperature`` and ``top_p`` together are rejected.
    encodings, max_inputs: of vectors; of one request.
    extras: ``refuse`` or ``refuse_bare``: how passed-through parameters are rejected.
    display: the name in ``/info``.

A parameter is ``taken`` (the default), ``unsupported`` (rejected), ``unknown`` (rejected as unrecognized),
``ignored`` (without effect), a text (rejected, with this advice), or a list of accepted values.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text, parse_json
from emulator.core.requests import Deployment, Task
from emulator.vendors.azure.settings import AzureSettings

_OWN = frozenset(field.name for field in fields(Deployment)) - {"traits"}
_MODEL_TYPES: Mapping[Task, str] = {
    "chat": "chat-completion",
    "embeddings": "embedding",
    "completions": "text-generation",
    "images": "image-generation",
    "transcription": "speech-to-text",
    "speech": "text-to-speech",
}
_UNKNOWN: Object = {"provider": "Custom"}


@fast_dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """Contents of ``models.json``.

    Fields:
        families: traits by name prefix, the longest prefixes first.
        parameters: rules of fields that are not simply taken, by name of the set.
    """

    deployments: tuple[Deployment, ...]
    families: Mapping[str, Object]
    parameters: Mapping[str, Object]


@cache
def read_catalogue() -> Catalogue:
    data = as_object(parse_json(Path(__file__).with_name("models.json").read_bytes()))
    families = _resolve(as_object(data["families"]))
    starts = {as_text(start): family for family in families.values() for start in as_array(family["named"])}
    return Catalogue(
        deployments=tuple(_build_deployment(as_object(model), starts) for model in as_array(data["models"])),
        families={start: starts[start] for start in sorted(starts, key=len, reverse=True)},
        parameters=_resolve(as_object(data["parameters"])),
    )


def _resolve(tables: Object) -> dict[str, Object]:
    """Return the tables, each merged with the one that it is ``like``."""
    resolved: dict[str, Object] = {}
    for name, table in tables.items():
        own = dict(as_object(table))
        like = own.pop("like", None)
        resolved[name] = {**(resolved[as_text(like)] if like else {}), **own}
    return resolved


def _build_deployment(model: Object, families: Mapping[str, Object]) -> Deployment:
    family = _find_family(as_text(model["name"]), families)
    own: Object = {name: value for name, value in model.items() if name in _OWN}
    traits: Object = {name: value for name, value in model.items() if name not in _OWN}
    return Deployment(vendor="azure", tokenizer=as_text(family["tokenizer"]), traits=traits, **own)  # type: ignore[arg-type]


def _find_family(name: str, families: Mapping[str, Object]) -> Object:
    folded = name.lower()
    starts = [start for start in families if folded.startswith(start)]
    return families[max(starts, key=len)] if starts else _UNKNOWN


def list_deployments(settings: AzureSettings) -> tuple[Deployment, ...]:
    """Return the same models for every profile; the first of a task answers requests that name none."""
    return read_catalogue().deployments


def parse_traits(deployment: Deployment) -> Mapping[str, JSON]:
    """Return a deployment's own traits over those of the family that matches its model's name or its own."""
    families = read_catalogue().families
    family = _find_family(model_name(deployment), families)
    if family is _UNKNOWN:
        family = _find_family(deployment.name, families)
    return {**family, **deployment.traits}


def parse_parameters(traits: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the rules of fields that the model does not simply take."""
    given = traits.get("parameters")
    if isinstance(given, dict):
        return given
    return read_catalogue().parameters.get(str(given), {})


def is_openai(traits: Mapping[str, JSON], settings: AzureSettings) -> bool:
    """Return whether responses have Azure OpenAI's form: all of an ``aoai`` resource, some of a ``foundry`` one."""
    return settings.profile == "aoai" or (settings.profile == "foundry" and traits.get("provider") == "OpenAI")


def model_name(deployment: Deployment) -> str:
    """Return the ``model`` of a response."""
    return deployment.model or deployment.name


def build_info(deployment: Deployment, traits: Mapping[str, JSON], settings: AzureSettings) -> JSON:
    """Return the body of ``GET /info``.

    Source: Azure/azure-sdk-assets, recorded ``/info`` answers; for managed endpoints
    Azure/azureml-assets, foundation/model/serve/api_server.py.
    """
    info: Object = {
        "model_name": traits.get("display") or model_name(deployment),
        "model_type": _MODEL_TYPES.get(deployment.task, deployment.task),
        "model_provider_name": traits.get("provider") or as_text(_UNKNOWN["provider"]),
    }
    if settings.profile == "managed":
        return {key: info[key] for key in ("model_type", "model_provider_name", "model_name")}
    if settings.profile == "maas" and deployment.task == "chat":
        return {**info, "served_model_name": model_name(deployment), "served_model_type": info["model_type"]}
    return info
