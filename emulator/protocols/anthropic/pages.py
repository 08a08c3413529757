"""Paginate lists as Anthropic's API does (``limit``, ``after_id``, ``before_id``).

The model list and Azure's message batches have such pages.
"""

from collections.abc import Mapping, Sequence

from emulator.core.json import JSON, Object
from emulator.core.text import parse_integer
from emulator.protocols.anthropic.rules import error_parameter

_DEFAULT_LIMIT, _MAX_LIMIT = 20, 1000


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
