"""What the container checks beyond types, and what a model can do."""

from collections.abc import Sequence

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.vendors.azure import refusals
from emulator.vendors.azure.catalogue import model_name, supports
from emulator.vendors.azure.settings import AzureSettings
from emulator.vendors.azure.wire import ChatMessage, ChatRequest, Generation, NamedToolChoice


def check_rules(wire: ChatRequest, settings: AzureSettings) -> None:
    """What the container checks beyond types; the switches say how much.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``.
    """
    errors = [error for position, message in enumerate(wire.messages) for error in _check_message(position, message)]
    if settings.require_tool_call_id:
        errors += [
            _missing(("messages", position, "tool_call_id"), message)
            for position, message in enumerate(wire.messages)
            if message.role == "tool" and message.tool_call_id is None
        ]
    errors += check_range(wire, settings)
    if settings.strict_tool_choice and isinstance(wire.tool_choice, NamedToolChoice):
        value = wire.tool_choice.model_dump()
        errors.append(
            {"type": "string_type", "loc": ("tool_choice",), "msg": "Input should be a valid string", "input": value}
        )
    if errors:
        raise refusals.breaks_schema(errors)


def _check_message(position: int, message: ChatMessage) -> list[JSON]:
    if message.content is None and message.role in ("system", "developer", "user"):
        return [_missing(("messages", position, "content"), message)]
    return []


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
    for check in (_check_media, _check_format, _check_tools):
        unsupported = check(wire, deployment)
        if unsupported is not None:
            raise unsupported
    check_penalties(wire, deployment)
    if wire.modalities and "audio" in wire.modalities:  # no model here speaks
        raise refusals.not_supported(("modalities",), wire.modalities)


def check_penalties(wire: Generation, deployment: Deployment) -> None:
    """Refuse penalties to a model that has none."""
    for name in ("frequency_penalty", "presence_penalty"):
        if getattr(wire, name) and not supports(deployment, "penalties"):
            raise refusals.not_supported((name,), getattr(wire, name))


def _check_media(wire: ChatRequest, deployment: Deployment) -> EmulatedError | None:
    for message in wire.messages:
        for part in message.content if isinstance(message.content, list) else ():
            kind = part.type.value
            feature = "vision" if kind.startswith("image") else "audio"
            if kind != "text" and not supports(deployment, feature):
                return refusals.not_supported(("messages",), kind)
    return None


def _check_format(wire: ChatRequest, deployment: Deployment) -> EmulatedError | None:
    kind = wire.response_format.type if wire.response_format else "text"
    feature = "json" if kind == "json_object" else kind
    return None if supports(deployment, feature) else refusals.not_supported(("response_format",), kind)


def _check_tools(wire: ChatRequest, deployment: Deployment) -> EmulatedError | None:
    choice = wire.tool_choice
    if wire.tools and not supports(deployment, "tools"):
        return refusals.not_supported(("tools",), [tool.model_dump(exclude_unset=True) for tool in wire.tools])
    if choice == "required" and not wire.tools:
        return refusals.not_supported(("tool_choice",), choice)
    if isinstance(choice, NamedToolChoice):
        names = [tool.function.name for tool in wire.tools or ()]
        if choice.function.name not in names:
            return refusals.not_supported(("tool_choice",), choice.model_dump())
    return None


def limit_tokens(
    requested: int | None, default: int | None, deployment: Deployment, prompt_tokens: int, settings: AzureSettings
) -> int | None:
    """Most tokens of an answer: what was asked for, lowered to what model and context leave.

    Raises:
        EmulatedError: ``CONTEXT_LENGTH``: the prompt alone is too long, or, as Azure OpenAI counts, both together.
    """
    context = deployment.context
    wanted = requested if settings.profile == "aoai" else None
    if context is not None and prompt_tokens + (wanted or 0) > context:
        raise refusals.context_exceeded(context, prompt_tokens, model_name(deployment), wanted)
    if requested is None:
        requested = default if deployment.default_max_tokens is None else deployment.default_max_tokens
    left = None if context is None else context - prompt_tokens
    return min((limit for limit in (requested, deployment.max_output, left) if limit is not None), default=None)
