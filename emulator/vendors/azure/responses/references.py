"""Replace references among the items of a Responses request by the stored items that they name.

Sources: openai/openai-openapi, ``ItemReferenceParam``; can1357/oh-my-pi issue 41 (404), OpenRouterTeam/ai-sdk-provider
issue 254 (duplicates).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_object, as_text
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
    known = {as_text(item["id"]): item for item in _list_stored(request.documents, request.principal, now)}
    return [
        _resolve(_read_name(item, position), known, stored=stored) if item.get("type") == _KIND else item
        for position, item in enumerate(items)
    ]


def validate_ids(before: Iterable[Object], items: Iterable[Object], param: str = "input") -> None:
    """Raise for an item with the id of one before it; only texts are ids."""
    seen = {name for item in before if isinstance(name := item.get("id"), str)}
    for item in items:
        name = item.get("id")
        if not isinstance(name, str):
            continue
        if name in seen:
            text = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
            raise refusals.contradicts(text, param)
        seen.add(name)


def _read_name(item: Object, position: int) -> str:
    name, path = item.get("id"), f"input[{position}].id"
    if name is None:
        raise refusals.missing_parameter(path)
    if not isinstance(name, str):
        raise refusals.invalid_type(path, name, "a string")
    return name


def _resolve(name: str, known: Mapping[str, Object], *, stored: bool) -> Object:
    found = known.get(name)
    if found is not None:
        return found
    text = f"Item with id '{name}' not found."
    if not stored:
        text += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove"
        text += " this item from your input."
    raise refusals.not_found(text, "input")


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
