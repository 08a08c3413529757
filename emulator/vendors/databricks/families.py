"""Find the model family of an endpoint (Claude, GPT, Gemini, open, …), and with it the endpoint's default traits."""

from collections.abc import Mapping
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
# Traits of a family's models; an endpoint's own traits win.
_TRAITS: Mapping[Family, Mapping[str, JSON]] = {
        "open": {"usage_style": "every"},
        "gpt-oss": {"usage_style": "every", "reasoning": "always", "content_style": "list", "content_parts": True},
        "claude": {"usage_style": "claude", "reasoning": "on-request", "vision": True, "content_parts": True},
        "gpt": {
            "usage_style": "closing", "reasoning": "hidden", "vision": True, "content_parts": True,
            "responses_api": True,
        },
        "gemini": {"usage_style": "every", "reasoning": "hidden", "vision": True, "content_parts": True},
    }  # fmt: skip
_WITHOUT_REASONING = ("gpt-3", "gpt-4", "gpt-35")  # OpenAI models without reasoning


def find_family(*texts: str) -> Family:
    """Return the family that the first matching text names; ``open`` by default."""
    for text in texts:
        for name, family in _NAMES:
            if name in text.lower():
                return family
    return "open"


def family_of(deployment: Deployment) -> Family:
    """Return an endpoint's family: its trait ``family``, else by its model or name."""
    return find_family(str(deployment.traits.get("family", "")), deployment.model, deployment.name)


def traits_of(deployment: Deployment, family: Family) -> Mapping[str, JSON]:
    """Return the traits of the family, overridden by the endpoint's own."""
    traits = {**_TRAITS[family], **deployment.traits}
    if deployment.mode == "external" and family == "gpt" and "usage_style" not in deployment.traits:
        traits["usage_style"] = "on-request"
    model = (deployment.model or deployment.name).lower()
    if family == "gpt" and any(name in model for name in _WITHOUT_REASONING) and "reasoning" not in deployment.traits:
        traits["reasoning"] = ""
    return traits


def is_agent(deployment: Deployment) -> bool:
    """Return whether an endpoint is an agent, which accepts Responses on ``/invocations``."""
    return deployment.kind == "agent"


def is_custom(deployment: Deployment) -> bool:
    """Return whether an endpoint is a custom (pyfunc) model, which takes data frames and returns predictions."""
    return deployment.mode == "custom" and deployment.kind in ("", "pyfunc")
