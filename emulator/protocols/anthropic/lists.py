"""Build the model list of Anthropic's API, and pages of any of its lists (``limit``, ``after_id``, ``before_id``).

Azure and Databricks have the models, Azure alone message batches. Source: the package ``@anthropic-ai/sdk`` 1.14,
``resources/models.ts``. Whether Azure and Databricks list the line and the lifecycle is unverified.
"""

from collections.abc import Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object
from emulator.core.requests import Deployment
from emulator.core.text import parse_integer
from emulator.protocols.anthropic.rules import error_parameter

_DEFAULT_LIMIT, _MAX_LIMIT = 20, 1000
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


def list_page(items: Sequence[Object], query: Mapping[str, str]) -> Object:
    """Return a page, as ``limit``, ``after_id`` and ``before_id`` select it.

    Raises:
        EmulatedError: an invalid limit.
    """
    limit = _parse_limit(query.get("limit"))
    names = [item["id"] for item in items]
    start, end = 0, len(names)
    if query.get("after_id") in names:
        start = names.index(query["after_id"]) + 1
    elif query.get("before_id") in names:
        end = names.index(query["before_id"])
        start = max(0, end - limit)
    page: list[JSON] = [*items[start : min(end, start + limit)]]
    return {
        "data": page,
        "has_more": start > 0 if "before_id" in query else start + len(page) < len(names),
        "first_id": names[start] if page else None,
        "last_id": names[start + len(page) - 1] if page else None,
    }


def _parse_limit(given: str | None) -> int:
    if given is None:
        return _DEFAULT_LIMIT
    limit = parse_integer(given) if given.isascii() and given.isdecimal() else 0
    if not 1 <= limit <= _MAX_LIMIT:
        raise error_parameter(f"limit: Input should be between 1 and {_MAX_LIMIT}", "limit")
    return limit
