"""Replace references among the items of a Responses request by the stored items that they name.

Sources: openai/openai-openapi, ``ItemReferenceParam``; can1357/oh-my-pi issue 41 (404), OpenRouterTeam/ai-sdk-provider
issue 254 (duplicates).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.responses.stored import list_output

_KIND = "item_reference"


def resolve_references(items: Sequence[Object], request: Request, now: float, *, stored: bool) -> list[Object]:
    """Return items with the stored ones in place of references.

    Args:
        stored: the request does not have ``store: false``, which its refusal would name.

    Raises:
        EmulatedError: 404.
    """
    if not any(item.get("type") == _KIND for item in items):
        return [*items]
    known = {item.get("id"): item for item in _list_stored(request.documents, request.principal, now)}
    return [_resolve(item, known, stored=stored) if item.get("type") == _KIND else item for item in items]


def validate_ids(before: Iterable[Object], items: Iterable[Object]) -> None:
    """Raise for an item with the id of one before it.

    Raises:
        EmulatedError: 400.
    """
    seen = {item.get("id") for item in before}
    for item in items:
        name = item.get("id")
        if name is not None and name in seen:
            text = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
            raise refusals.contradicts(text, "input")
        seen.add(name)


def _resolve(item: Object, known: Mapping[JSON, Object], *, stored: bool) -> Object:
    found = known.get(item.get("id"))
    if found is not None:
        return found
    text = f"Item with id '{item.get('id')}' not found."
    if not stored:
        text += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove"
        text += " this item from your input."
    raise EmulatedError(ErrorKind.INVALID_REQUEST, text, param="input", status=404)


def _list_stored(documents: Mapping[str, JSON], principal: str, now: float) -> Iterator[Object]:
    """Yield the items of the stored responses and conversations of a principal, without the deleted."""
    owned = [document for document in map(as_object, documents.values()) if document.get("principal") == principal]
    deleted = {name for document in owned if "added" in document for name in as_array(document["deleted"])}
    for document in owned:
        groups: list[JSON] = [as_object(batch)["items"] for batch in as_array(document.get("added", []))]
        if "response" in document:
            groups += [document["input"], [*list_output(document, now)]]
        items = [as_object(item) for group in groups for item in as_array(group)]
        yield from (item for item in items if item["id"] not in deleted)
