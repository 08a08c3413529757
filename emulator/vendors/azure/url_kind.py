"""What a path says by itself: which of Azure's services it belongs to, and whom it addresses.

Sources: learn.microsoft.com, "Azure OpenAI REST API reference" (``/openai/deployments``), "Azure OpenAI v1 API"
(``/openai/v1``), "Azure AI Foundry REST API" (``/api/projects``); Azure Machine Learning, "Model Inference API"
(``/models`` and the root). ``/endpoints/{deployment}`` stands for the host name of an endpoint of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.vendors.azure.settings import AzureSettings

Kind = Literal["root", "models", "endpoint", "deployment", "v1", "dated", "project", "anthropic"]

INFERENCE: frozenset[Kind] = frozenset({"root", "models", "endpoint", "deployment", "v1"})
"""Where chat, completions and embeddings are."""
RESPONSES: frozenset[Kind] = frozenset({"v1", "dated"})

_BASES = (
    re.compile(r"/(?P<base>endpoints/(?P<deployment>[^/]+))(/.*)?"),
    re.compile(r"/(?P<base>(?:.*/)?openai/deployments/(?P<deployment>[^/]+))/.*"),
    re.compile(r"/(?P<base>(?:.*/)?openai/v1)/.*"),
    re.compile(r"/(?P<base>(?:.*/)?openai)/.*"),
    re.compile(r"/(?P<base>(?:.*/)?anthropic/v1)/.*"),
    re.compile(r"/(?P<base>api/projects/[^/]+)/.*"),
    re.compile(r"/(?P<base>models)/.*"),
)
_KINDS: tuple[Kind, ...] = ("endpoint", "deployment", "v1", "dated", "anthropic", "project", "models")


@fast_dataclass(frozen=True, slots=True)
class UrlKind:
    """Where a request arrives.

    Fields:
        base: what stands before a route, without the slashes around it.
        deployment: the one that the path names; empty if it names none.
    """

    kind: Kind = "root"
    base: str = ""
    deployment: str = ""

    @property
    def is_openai(self) -> bool:
        """It speaks Azure OpenAI."""
        return self.kind in ("deployment", "v1", "dated")

    @property
    def is_dated(self) -> bool:
        """It asks for an ``api-version`` with a date."""
        return self.kind not in ("v1", "anthropic")

    def has_route(self, request: Request, kinds: Collection[Kind]) -> bool:
        """A route of services of these kinds stands right below the base; at the root anything may stand before it."""
        if self.kind == "root":
            return "root" in kinds
        prefix = request.params.get("prefix")
        if self.kind == "endpoint" and prefix in (f"{self.base}/v1", f"{self.base}/v2"):  # the engine's own routes
            return "endpoint" in kinds
        return self.kind in kinds and prefix == self.base

    def settings(self, settings: AzureSettings) -> AzureSettings:
        """The vendor's settings in the dialect that is spoken here."""
        if self.kind == "root":
            return settings
        if self.is_openai:
            return settings.openai
        if self.kind == "models":
            return settings.inference
        return settings.endpoint if self.kind == "endpoint" else settings.foundry


_ROOT = UrlKind()


def classify_url(request: Request) -> UrlKind:
    """Where a request arrives; before the path of a resource may stand a gateway's own."""
    return _read(request.path)


def name_provider(path: str) -> str:
    """As OpenTelemetry names it. Source: semantic-conventions-genai, ``gen_ai.provider.name``."""
    return "azure.ai.openai" if _read(path).is_openai else "azure.ai.inference"


@lru(1024)
def _read(path: str) -> UrlKind:
    for kind, pattern in zip(_KINDS, _BASES, strict=True):
        found = pattern.fullmatch(path)
        if found is not None:
            return UrlKind(kind, found["base"], found.groupdict().get("deployment") or "")
    return _ROOT
