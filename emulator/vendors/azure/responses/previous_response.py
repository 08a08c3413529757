"""Load the items that a Responses request continues: ``previous_response_id`` or ``conversation``."""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import Object, as_array, as_object, as_text
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.responses.conversations import find_conversation, list_all, list_kept
from emulator.vendors.azure.responses.models import ResponseRequest
from emulator.vendors.azure.responses.stored import find_stored, list_output


@fast_dataclass(frozen=True, slots=True, eq=False)
class PreviousItems:
    """What a request continues.

    Fields:
        items: items of the conversation so far.
        conversation: id of the conversation, if the response joins it.
        at: number of items that the conversation ever had.
    """

    items: list[Object]
    conversation: str | None = None
    at: int = 0


def validate_previous(wire: ResponseRequest) -> None:
    """Raise if the request continues a response and a conversation."""
    if wire.conversation is not None and wire.previous_response_id is not None:
        text = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Provide only one."
        raise refusals.contradicts(text, "previous_response_id", "mutually_exclusive_parameters")


def load_previous(wire: ResponseRequest, request: Request, now: float) -> PreviousItems:
    """Return the items of the conversation that the request continues.

    Raises:
        EmulatedError: no such response or conversation.
    """
    given = wire.conversation
    if given is not None:
        name = given if isinstance(given, str) else as_text(given["id"])
        document = find_conversation(request.documents, name, request)
        at = len(list_all(document, request.documents))
        return PreviousItems(list_kept(document, request.documents, now), name, at)
    return PreviousItems(
        [] if wire.previous_response_id is None else _load_response(wire.previous_response_id, request, now)
    )


def _load_response(name: str, request: Request, now: float) -> list[Object]:
    document = find_stored(request.documents, name, request)
    if document is None:
        text = f"Previous response with id '{name}' not found."
        raise refusals.contradicts(text, "previous_response_id", "previous_response_not_found")
    given = (*as_array(document["before"]), *as_array(document["input"]))
    return [*map(as_object, given), *list_output(document, now)]
