"""What tells one family of models from another, and one kind of endpoint from the next."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from emulator.core.json import JSON
from emulator.core.requests import Deployment

Family = Literal["open", "gpt-oss", "claude", "gpt", "gemini"]

_NAMES: tuple[tuple[str, Family], ...] = (
    ("gpt-oss", "gpt-oss"),
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gpt", "gpt"),
    ("codex", "gpt"),
)
# What the models of a family have in common; an endpoint's own traits win.
_TRAITS: Mapping[Family, Mapping[str, JSON]] = MappingProxyType(
    {
        "open": {"usage_style": "every"},
        "gpt-oss": {"usage_style": "every", "reasoning": "always", "content_style": "list", "content_parts": True},
        "claude": {"usage_style": "claude", "reasoning": "on-request", "vision": True, "content_parts": True},
        "gpt": {
            "usage_style": "closing", "reasoning": "hidden", "vision": True, "content_parts": True,
            "responses_api": True,
        },
        "gemini": {"usage_style": "every", "reasoning": "hidden", "vision": True, "content_parts": True},
    }
)  # fmt: skip
_THOUGHTLESS = ("gpt-3", "gpt-4", "gpt-35")  # OpenAI's models that say at once what they say


def find_family(*texts: str) -> Family:
    """The family that the first text which names one is of."""
    for text in texts:
        for name, family in _NAMES:
            if name in text.lower():
                return family
    return "open"


def family_of(deployment: Deployment) -> Family:
    """Which family's habits an endpoint has: its trait ``family``, or what its model or name says."""
    return find_family(str(deployment.traits.get("family", "")), deployment.model, deployment.name)


def traits_of(deployment: Deployment, family: Family) -> Mapping[str, JSON]:
    """An endpoint's traits: its family's, and its own in their place."""
    traits = {**_TRAITS[family], **deployment.traits}
    if deployment.mode == "external" and family == "gpt" and "usage_style" not in deployment.traits:
        traits["usage_style"] = "on-request"
    model = (deployment.model or deployment.name).lower()
    if family == "gpt" and any(name in model for name in _THOUGHTLESS) and "reasoning" not in deployment.traits:
        traits["reasoning"] = ""
    return traits


def is_agent(deployment: Deployment) -> bool:
    """An agent speaks Responses on ``/invocations``."""
    return deployment.kind == "agent"


def is_custom(deployment: Deployment) -> bool:
    """A custom (pyfunc) model takes data frames and gives predictions."""
    return deployment.mode == "custom" and deployment.kind in ("", "pyfunc")
