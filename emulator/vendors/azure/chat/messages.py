"""Validate and parse ``messages`` of a chat request: roles, parts, images and audio that the model takes."""

from base64 import b64decode
from collections.abc import Mapping, Sequence

from pydantic_core import ErrorDetails

from emulator.core.json import as_array
from emulator.core.requests import Message, ToolCall
from emulator.vendors.azure.chat.models import CalledTool, ChatMessage, Part
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile
from emulator.vendors.azure.settings import AzureSettings

_MAX_ECHO = 64  # characters of invalid base64 that an error repeats
_CONTENT_ROLES = frozenset({"system", "developer", "user"})
_FEATURES = {"image": "vision", "image_url": "vision", "file": "vision", "input_audio": "audio", "audio_url": "audio"}


def find_incomplete(messages: Sequence[ChatMessage], settings: AzureSettings) -> list[ErrorDetails]:
    """Return the violations of messages that lack a field of their role."""
    errors: list[ErrorDetails] = []
    for position, message in enumerate(messages):
        is_absent = message.null_is_absent or "content" not in message.model_fields_set
        if message.content is None and is_absent and message.role in _CONTENT_ROLES:
            errors.append(_build_missing(position, "content", message))
        elif message.role == "tool" and message.tool_call_id is None and settings.require_tool_call_id:
            errors.append(_build_missing(position, "tool_call_id", message))
    return errors


def _build_missing(position: int, field: str, message: ChatMessage) -> ErrorDetails:
    value = message.model_dump(mode="json", exclude_unset=True, warnings=False)
    return {"type": "missing", "loc": ("messages", position, field), "msg": "Field required", "input": value}


def validate_media(messages: Sequence[ChatMessage], profile: DeploymentProfile) -> None:
    """Raise for images or audio that the model does not take."""
    for number, message in enumerate(messages):
        if isinstance(message.content, list):
            for position, part in enumerate(message.content):
                _validate_part(part, profile, f"messages.[{number}].content.[{position}].type")
                validate_data(_list_data(part), ("messages", number, "content", position), profile)


def _list_data(part: Part) -> Mapping[str, str]:
    """Return the texts of a part that may be base64, by their path in the part."""
    found: dict[str, str | None] = {
        "content": part.content if part.type in _FEATURES else None,
        "image_url.url": part.image_url.url if part.image_url else None,
        "image.data": part.image.data if part.image else None,
        "input_audio.data": part.input_audio.data if part.input_audio else None,
        "audio_url.url": part.audio_url.url if part.audio_url else None,
    }
    return {place: data for place, data in found.items() if data is not None}


def validate_data(data: Mapping[str, str], place: tuple[str | int, ...], profile: DeploymentProfile) -> None:
    """Raise for invalid base64 in texts, given by their path below ``place``; plain URLs are accepted.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``; the texts of Azure OpenAI are ``unverified``.
    """
    for name, text in data.items():
        encoded = text.partition(";base64,")[2] if text.startswith("data:") else text
        if text.startswith(("http://", "https://")) or (text.startswith("data:") and ";base64," not in text):
            continue
        if name.endswith("url") and not text.startswith("data:"):
            continue
        try:
            b64decode(encoded, validate=True)
        except ValueError:
            where = (*place, *name.split("."))
            if profile.openai:
                kind = name.partition(".")[0]
                raise refusals.contradicts(f"Invalid base64 {kind}.", None, "invalid_base64") from None
            raise refusals.breaks_schema(
                [
                    {
                        "type": "value_error",
                        "loc": where,
                        "msg": "Value error, invalid base64",
                        "input": text[:_MAX_ECHO],
                        "ctx": {"error": {}},  # pydantic adds it to every violation of this type
                    }
                ]
            ) from None


def validate_roles(messages: Sequence[ChatMessage], profile: DeploymentProfile) -> None:
    """Raise for a role that the model does not take."""
    roles = profile.traits.get("roles")
    for position, message in enumerate(messages) if isinstance(roles, list) else ():
        if message.role not in as_array(roles):
            raise refusals.unsupported_value(("messages", position, "role"), message.role, as_array(roles))


def _validate_part(part: Part, profile: DeploymentProfile, path: str) -> None:
    """Raise for a part of a kind that the model does not take; ``path``: of its type, in Azure OpenAI's form.

    Source of Azure OpenAI's text: browser-use/web-ui issue 274; of other kinds than ``image_url`` unverified.
    """
    kind = part.type.value
    feature = _FEATURES.get(kind)
    if feature is None or profile.supports(feature):
        return
    if profile.openai:
        raise refusals.contradicts(f"Invalid content type. {kind} is only supported by certain models.", path)
    raise refusals.not_supported(("messages",), kind)


def parse_message(message: ChatMessage) -> Message:
    """Return a message; the text of a text part is under ``text`` or ``content``."""
    content = message.content
    calls = message.tool_calls
    if isinstance(content, str) and calls is None and message.tool_call_id is None:
        return Message(role=message.role, text=content)
    media = 0
    if isinstance(content, list):
        text = "\n".join([part.written for part in content if part.type not in _FEATURES])
        media = sum([part.type in _FEATURES for part in content])
    else:
        text = content if isinstance(content, str) else ""
    return Message(
        role="tool" if message.role == "function" else message.role,
        text=text,
        media=media,
        tool_calls=tuple([_parse_call(call, position) for position, call in enumerate(calls or ())]),
        tool_call_id=message.tool_call_id,
    )


def _parse_call(call: CalledTool, position: int) -> ToolCall:
    """Parse an earlier call; one without an id gets the container's. Source: azureml-assets, foundation/model/serve."""
    function = call.function
    return ToolCall(call.id or f"call_{function.name}_{position}", function.name, function.arguments)
