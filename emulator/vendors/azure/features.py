"""What the container checks beyond types, and what a model can do."""

from collections.abc import Sequence

from emulator.core.call import Deployment
from emulator.core.json import JSON
from emulator.vendors.azure.catalogue import model_name, supports
from emulator.vendors.azure.chat.fields import (
    ChatMessage,
    ChatRequest,
    ContentPart,
    Generation,
    NamedToolChoice,
    ResponseFormat,
)
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.settings import AzureSettings

_SPOKEN = frozenset({"system", "developer", "user"})


def check_rules(wire: ChatRequest, settings: AzureSettings) -> None:
    """What the container checks beyond types; the switches say how much.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``.
    """
    errors: list[JSON] = []
    for position, message in enumerate(wire.messages):
        if message.content is None and message.role in _SPOKEN:
            errors.append(_missing(("messages", position, "content"), message))
        elif message.role == "tool" and message.tool_call_id is None and settings.require_tool_call_id:
            errors.append(_missing(("messages", position, "tool_call_id"), message))
    if settings.strict_range:
        errors += check_range(wire, settings)
    if settings.strict_tool_choice and isinstance(wire.tool_choice, NamedToolChoice):
        value = wire.tool_choice.model_dump()
        errors.append(
            {"type": "string_type", "loc": ("tool_choice",), "msg": "Input should be a valid string", "input": value}
        )
    if errors:
        raise refusals.breaks_schema(errors)


def _missing(loc: Sequence[str | int], message: ChatMessage) -> JSON:
    value = message.model_dump(mode="json", exclude_unset=True)
    return {"type": "missing", "loc": loc, "msg": "Field required", "input": value}


def check_range(wire: Generation, settings: AzureSettings) -> list[JSON]:
    if not settings.strict_range or wire.temperature is None or wire.temperature <= 1:
        return []
    return [
        {
            "type": "less_than_equal",
            "loc": ("temperature",),
            "msg": "Input should be less than or equal to 1",
            "input": wire.temperature,
            "ctx": {"le": 1.0},
        }
    ]


def check_features(wire: ChatRequest, deployment: Deployment, settings: AzureSettings) -> None:
    """Refuse what is part of the API but not of this model.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``, code ``parameter_not_supported``.
    """
    for message in wire.messages:
        if isinstance(message.content, list):
            _check_media(message.content, deployment)
    if wire.response_format is not None:
        _check_format(wire.response_format, deployment)
    if wire.tools is not None or wire.tool_choice is not None:
        _check_tools(wire, deployment)
    check_penalties(wire, deployment)
    if wire.modalities and "audio" in wire.modalities:  # no model here speaks
        raise refusals.not_supported(("modalities",), wire.modalities)


def check_penalties(wire: Generation, deployment: Deployment) -> None:
    """Refuse penalties to a model that has none."""
    if not wire.frequency_penalty and not wire.presence_penalty:
        return
    if not supports(deployment, "penalties"):
        name = "frequency_penalty" if wire.frequency_penalty else "presence_penalty"
        raise refusals.not_supported((name,), getattr(wire, name))


def _check_media(content: list[ContentPart], deployment: Deployment) -> None:
    for part in content:
        kind = part.type.value
        feature = "vision" if kind.startswith("image") else "audio"
        if kind != "text" and not supports(deployment, feature):
            raise refusals.not_supported(("messages",), kind)


def _check_format(wanted: ResponseFormat, deployment: Deployment) -> None:
    feature = "json" if wanted.type == "json_object" else wanted.type
    if not supports(deployment, feature):
        raise refusals.not_supported(("response_format",), wanted.type)


def _check_tools(wire: ChatRequest, deployment: Deployment) -> None:
    choice = wire.tool_choice
    if wire.tools and not supports(deployment, "tools"):
        raise refusals.not_supported(("tools",), [tool.model_dump(exclude_unset=True) for tool in wire.tools])
    if choice == "required" and not wire.tools:
        raise refusals.not_supported(("tool_choice",), choice)
    if isinstance(choice, NamedToolChoice):
        names = [tool.function.name for tool in wire.tools or ()]
        if choice.function.name not in names:
            raise refusals.not_supported(("tool_choice",), choice.model_dump())


def limit_tokens(
    requested: int | None, default: int | None, deployment: Deployment, prompt_tokens: int, settings: AzureSettings
) -> int | None:
    """Most tokens of an answer: what was asked for, lowered to what model and context leave.

    Args:
        default: where nothing was asked for.

    Raises:
        EmulatedError: ``CONTEXT_LENGTH``: the prompt alone is too long, or, as Azure OpenAI counts, both together.
    """
    context = deployment.context
    limit = default if requested is None else requested
    if context is not None:
        wanted = requested if settings.profile == "aoai" else None
        left = context - prompt_tokens
        if left < (wanted or 0):
            raise refusals.context_exceeded(context, prompt_tokens, model_name(deployment), wanted)
        if limit is None or left < limit:
            limit = left
    most = deployment.max_output
    return most if limit is None or (most is not None and most < limit) else limit
