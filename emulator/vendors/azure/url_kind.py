"""Classify a URL path of Azure: the kind of service that it belongs to, and the deployment that it names.

Sources: learn.microsoft.com, "Azure OpenAI REST API reference" (``/openai/deployments``), "Azure OpenAI v1 API"
(``/openai/v1``), "Azure AI Foundry REST API" (``/api/projects``); Azure Machine Learning, "Model Inference API"
(``/models`` and the root). ``/endpoints/{deployment}`` stands for the host name of an endpoint of its own.
"""

import re
from collections.abc import Collection
from typing import Literal

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.vendors.azure.settings import AzureSettings

Kind = Literal["root", "models", "endpoint", "deployment", "v1", "dated", "project", "anthropic"]

INFERENCE_KINDS: frozenset[Kind] = frozenset({"root", "models", "endpoint", "deployment", "v1"})
"""Kinds of URLs that serve chat, completions and embeddings."""
_WITH_ENGINE: frozenset[Kind] = frozenset({"root", "endpoint"})
RESPONSES_KINDS: frozenset[Kind] = frozenset({"v1", "dated"})
OPENAI_KINDS: frozenset[Kind] = frozenset({"v1", "deployment"})
"""Kinds of URLs that serve sounds and edits of images."""

_PROJECT = "(?:api/projects/[^/]+/)?"
_BASES = (
    re.compile(r"/(?P<base>endpoints/(?P<deployment>[^/]+))(/.*)?"),
    re.compile(rf"/(?P<base>{_PROJECT}openai/deployments/(?P<deployment>[^/]+))/.*"),
    re.compile(rf"/(?P<base>{_PROJECT}openai/v1)/.*"),
    re.compile(rf"/(?P<base>{_PROJECT}openai)/.*"),
    re.compile(r"/(?P<base>anthropic/v1)/.*"),
    re.compile(r"/(?P<base>api/projects/[^/]+)/.*"),
    re.compile(r"/(?P<base>models)/.*"),
)
_KINDS: tuple[Kind, ...] = ("endpoint", "deployment", "v1", "dated", "anthropic", "project", "models")


@fast_dataclass(frozen=True, slots=True)
class UrlKind:
    """Classification of a URL.

    Fields:
        base: the part before the route, without the slashes around it.
        deployment: named by the path; empty if it names none.
    """

    kind: Kind = "root"
    base: str = ""
    deployment: str = ""

    @property
    def is_openai(self) -> bool:
        """Whether the path speaks Azure OpenAI."""
        return self.kind in ("deployment", "v1", "dated")

    @property
    def is_dated(self) -> bool:
        """Whether the path takes a dated ``api-version``."""
        return self.kind not in ("v1", "anthropic")

    def has_route(self, request: Request, kinds: Collection[Kind], engine: Collection[str]) -> bool:
        """Return whether a route of these kinds is right below the base, or below it and one of ``engine``."""
        prefix = request.params.get("prefix", "")
        if self.kind not in kinds or prefix == self.base:
            return self.kind in kinds
        return self.kind in _WITH_ENGINE and prefix.removeprefix(f"{self.base}/" if self.base else "") in engine

    def settings(self, settings: AzureSettings) -> AzureSettings:
        """Return the vendor's settings in the dialect of the path."""
        if self.kind == "root":
            return settings
        if self.is_openai:
            return settings.openai
        if self.kind == "models":
            return settings.inference
        return settings.endpoint if self.kind == "endpoint" else settings.foundry


_ROOT = UrlKind()


def classify_url(request: Request) -> UrlKind:
    return _classify_path(request.path)


def is_responses(request: Request) -> bool:
    """Return whether the URL of a request is one of the Responses API."""
    kind = classify_url(request)
    return kind.kind in RESPONSES_KINDS and f"{request.path}/".startswith(f"/{kind.base}/responses/")


def name_provider(path: str) -> str:
    """Return OpenTelemetry's provider name. Source: semantic-conventions-genai, ``gen_ai.provider.name``."""
    return "azure.ai.openai" if _classify_path(path).is_openai else "azure.ai.inference"


@lru(1024)
def _classify_path(path: str) -> UrlKind:
    for kind, pattern in zip(_KINDS, _BASES, strict=True):
        found = pattern.fullmatch(path)
        if found is not None:
            return UrlKind(kind, found["base"], found.groupdict().get("deployment") or "")
    return _ROOT
