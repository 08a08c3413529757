"""Build the model list of Anthropic's API, which Azure and Databricks have.

Source: the package ``@anthropic-ai/sdk`` 1.14, ``resources/models.ts``. Whether Azure and Databricks list the line and
the lifecycle is unverified.
"""

from collections.abc import Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import Object
from emulator.core.requests import Deployment
from emulator.protocols.anthropic.pages import list_page

_CREATED = "2025-09-29T00:00:00Z"  # no source has the release dates of all
_LINES = frozenset({"haiku", "sonnet", "opus", "fable", "mythos"})


def build_list(deployments: Sequence[Deployment], query: Mapping[str, str]) -> Object:
    """Return a page of models."""
    return list_page([build_model(deployment) for deployment in deployments], query)


def build_model(deployment: Deployment) -> Object:
    words = deployment.name.removeprefix("databricks-").split("-")
    name = " ".join(word.capitalize() for word in words if not word.isdecimal())
    version = ".".join(word for word in words if word.isdecimal())
    return {
        "type": "model",
        "id": deployment.name,
        "display_name": f"{name} {version}".strip(),
        "created_at": _CREATED,
        "max_input_tokens": deployment.context,
        "max_tokens": deployment.max_output,
        "capabilities": None,
        "line": next((word for word in words if word in _LINES), None),
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
    }


def error_no_model(name: str) -> EmulatedError:
    """Return the error of an unknown model (404)."""
    return EmulatedError(ErrorKind.NOT_FOUND, f"model: {name}")
