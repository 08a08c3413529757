"""Paginate lists as the OpenAI API does (``limit``, ``order``, ``after``, ``before``).

All lists of an Azure OpenAI resource are paginated so: files, batches, responses, stores.
"""

from collections.abc import Mapping, Sequence

from emulator.core.json import JSON, Object
from emulator.core.text import parse_integer
from emulator.vendors.azure.errors import refusals


def list_page(
    items: Sequence[Object],
    query: Mapping[str, str],
    *,
    newest_first: bool,
    limits: tuple[int, int] = (20, 100),
) -> Object:
    """Return a page of a list, as ``limit``, ``order``, ``after`` and ``before`` select it.

    Args:
        items: items in chronological order.
        newest_first: default order.
        limits: default and maximum of ``limit``.
    """
    limit = _parse_limit(query.get("limit"), *limits)
    order = query.get("order", "desc" if newest_first else "asc")
    if order not in ("asc", "desc"):
        raise refusals.invalid_value("order", order, ("asc", "desc"))
    ordered = items if order == "asc" else items[::-1]
    names = [item.get("id") for item in ordered]
    after, before = query.get("after"), query.get("before")
    start = names.index(after) + 1 if after in names else 0
    end = names.index(before) if before in names else len(names)
    if before in names and after not in names:
        start = max(0, end - limit)
        has_more = start > 0
    else:
        has_more = start + limit < end
    end = min(end, start + limit)
    page: list[JSON] = [*ordered[start:end]]
    return {
        "object": "list",
        "data": page,
        "first_id": names[start] if page else None,
        "last_id": names[end - 1] if page else None,
        "has_more": has_more,
    }


def _parse_limit(given: str | None, default: int, most: int) -> int:
    if given is None:
        return default
    if not (given.isdecimal() and given.isascii()):
        text = f"Invalid type for 'limit': expected an integer, but got '{given}' instead."
        raise refusals.contradicts(text, "limit", "invalid_type")
    if not 1 <= parse_integer(given) <= most:
        text = f"Invalid 'limit': integer out of range. Expected a value between 1 and {most}, but got {given}"
        raise refusals.contradicts(f"{text} instead.", "limit")
    return int(given)
