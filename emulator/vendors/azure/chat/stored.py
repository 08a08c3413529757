"""Routes of stored chat completions: retrieve, list, update metadata, delete.

Sources: openai-python, ``resources/chat/completions``; OpenAI API reference, "List Chat Completions" (sample answer).
Texts of refusals ``unverified``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from emulator.core.calls import Change, Codec, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_array, as_object, parse_json
from emulator.core.plan import Plan
from emulator.core.rng import draw_hex
from emulator.vendors.azure.chat.openai_models import Metadata
from emulator.vendors.azure.decoder import WireModel, parse_body, validate
from emulator.vendors.azure.documents import find_owned
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.refusals import validate_names
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.url_kind import INFERENCE_KINDS, RESPONSES_KINDS, classify_url

Keep = Callable[[Plan, Request], tuple[str, JSON]]
_ECHOED: Mapping[str, JSON] = {
    "tool_choice": None,
    "seed": None,
    "top_p": 1.0,
    "temperature": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "tools": None,
    "response_format": None,
}
"""Fields of a stored completion that repeat the request, with their defaults."""


def keep_completion(codec: Codec, fields: Object) -> Keep:
    """Return the function that builds the stored document of a response."""

    def keep(plan: Plan, request: Request) -> tuple[str, JSON]:
        answer = as_object(parse_json(codec.render(plan, request).body))
        echo = {name: fields.get(name, default) for name, default in _ECHOED.items()}
        completion: Object = {
            **answer,
            "request_id": f"req_{draw_hex(plan.key, 'request')}",
            **echo,
            "input_user": fields.get("user"),
            "service_tier": "default",
            "metadata": fields.get("metadata") or {},
        }
        document: Object = {
            "completion": completion,
            "messages": fields["messages"],
            "asked": fields.get("model"),
            "principal": request.principal,
        }
        return str(answer["id"]), document

    return keep


def list_stored(request: Request, service: AzureService) -> Response:
    """``GET /chat/completions``: filtered by model or metadata, the oldest first."""
    _validate_place(request, service)
    model = request.query.get("model")
    wanted = {name[9:-1]: value for name, value in request.query.items() if name.startswith("metadata[")}
    found = [
        as_object(document["completion"])
        for document in _list_documents(request)
        if model in (None, document["asked"], as_object(document["completion"])["model"])
        and wanted.items() <= as_object(as_object(document["completion"])["metadata"]).items()
    ]
    return answer_json(list_page(found, request.query, newest_first=False), request, service)


def retrieve_stored(request: Request, service: AzureService) -> Response:
    """``GET /chat/completions/{completion}``."""
    _validate_place(request, service)
    return answer_json(_find(request.documents, request)["completion"], request, service)


def list_messages(request: Request, service: AzureService) -> Response:
    """``GET /chat/completions/{completion}/messages``: the messages of the request."""
    _validate_place(request, service)
    messages = as_array(_find(request.documents, request)["messages"])
    shaped = [_build_message(request.params["completion"], number, each) for number, each in enumerate(messages)]
    return answer_json(list_page(shaped, request.query, newest_first=False), request, service)


class MetadataUpdate(WireModel):
    """``POST /chat/completions/{completion}``."""

    metadata: Metadata | None


def update_stored(request: Request, service: AzureService) -> Change:
    """``POST /chat/completions/{completion}``: replace the metadata."""
    _validate_place(request, service)
    settings = classify_url(request).settings(service.settings)

    def make(documents: Mapping[str, JSON]) -> Write:
        document = _find(documents, request)
        body = parse_body(request, settings)
        wire = validate(MetadataUpdate, body)
        validate_names(as_object(body), MetadataUpdate.model_fields)
        completion: Object = {**as_object(document["completion"]), "metadata": wire.metadata or {}}
        changed: Object = {**document, "completion": completion}
        return Write(answer_json(completion, request, service), request.params["completion"], changed)

    return Change(make)


def delete_stored(request: Request, service: AzureService) -> Change:
    """``DELETE /chat/completions/{completion}``."""
    _validate_place(request, service)

    def make(documents: Mapping[str, JSON]) -> Write:
        _find(documents, request)
        name = request.params["completion"]
        body: Object = {"object": "chat.completion.deleted", "id": name, "deleted": True}
        return Write(answer_json(body, request, service), name, None)

    return Change(make)


def _validate_place(request: Request, service: AzureService) -> None:
    """Raise on a deployment's own path and on Model Inference, which accept only POST."""
    url = classify_url(request)
    if (
        url.kind not in RESPONSES_KINDS
        and "completion" not in request.params
        and url.has_route(request, INFERENCE_KINDS, ())
    ):
        raise EmulatedError(ErrorKind.METHOD_NOT_ALLOWED, details={"path": request.path, "allow": "POST"})
    validate_place(request, service)


def _list_documents(request: Request) -> Iterator[Object]:
    for stored in request.documents.values():
        document = as_object(stored)
        if "completion" in document and document["principal"] == request.principal:
            yield document


def _find(documents: Mapping[str, JSON], request: Request) -> Object:
    name = request.params["completion"]
    document = find_owned(documents, name, "completion", request.principal)
    if document is None:
        raise refusals.not_found(f"Chat completion with id '{name}' not found.")
    return document


def _build_message(name: str, number: int, given: JSON) -> Object:
    """Return a message with an id; parts have a field of their own."""
    message = as_object(given)
    content = message.get("content")
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else None
    return {
        "id": f"{name}-{number}",
        **message,
        "content": None if parts is not None else content,
        "name": message.get("name"),
        "content_parts": parts,
    }
