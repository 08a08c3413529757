"""Continue the conversation of a stored response: ``previous_response_id``."""

from emulator.core.http import Request
from emulator.core.json import Object, as_array, as_object
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.responses.models import ResponseRequest
from emulator.vendors.azure.responses.stored import find_stored


def validate_previous(wire: ResponseRequest) -> None:
    """Raise if the request continues a response and a conversation."""
    if wire.conversation is not None and wire.previous_response_id is not None:
        text = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Provide only one."
        raise refusals.contradicts(text, "previous_response_id", "mutually_exclusive_parameters")


def load_previous(wire: ResponseRequest, request: Request) -> list[Object]:
    """Return the items of the conversation that the request continues."""
    name = wire.previous_response_id
    if name is None:
        return []
    document = find_stored(request.documents, name, request)
    if document is None:
        text = f"Previous response with id '{name}' not found."
        raise refusals.contradicts(text, "previous_response_id", "previous_response_not_found")
    output = as_array(as_object(document["response"])["output"])
    return [as_object(item) for item in (*as_array(document["before"]), *as_array(document["input"]), *output)]
