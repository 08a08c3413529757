"""``POST /serving-endpoints/chat/completions``: validate a request, and convert it to the core's chat request.

Source: Databricks, "Foundation model REST API reference", chat task.
"""

from __future__ import annotations

from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.json import JSON, as_integer, as_object, as_text, dump_text
from emulator.core.requests import ChatRequest, Message
from emulator.protocols.openai import options
from emulator.protocols.openai.messages import parse_format, parse_message, parse_tool, parse_tool_choice
from emulator.vendors.databricks.chat.messages import validate_messages
from emulator.vendors.databricks.chat.render import ChatCodec
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.families import is_agent
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile
from emulator.vendors.databricks.request import ParsedRequest, error_messages, find_by_model
from emulator.vendors.databricks.sampling import (
    error_length,
    limit_output,
    parse_sampling,
    validate_alternatives,
    validate_family,
    validate_output_limit,
    validate_positive,
    validate_sampling,
)
from emulator.vendors.databricks.tools import (
    takes_parallel,
    validate_effort,
    validate_format,
    validate_tool_choice,
    validate_tools,
)

# Fields that need the validation and parsing below.
_TOOLING = frozenset({"tools", "tool_choice", "response_format"})
_REASONING = frozenset({"reasoning_effort", "output_config", "thinking"})


def parse_chat(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/chat/completions``."""
    return recall_chat(request, service) or parse_chat_request(find_by_model(request, service))


def recall_chat(request: Request, service: DatabricksService) -> InferenceCall | None:
    """Return the call of a request with remembered options; ``None`` for any other request."""
    context = (request.params.get("served"),)
    return options.recall_chat(request, service, context, limit=service.settings.payload_limit_bytes)


def parse_chat_request(parsed: ParsedRequest) -> InferenceCall:
    """Validate and parse a chat request.

    Raises:
        EmulatedError: the endpoint rejects the request.
    """
    if not parsed.profile.chats:
        if is_agent(parsed.deployment):
            raise error_messages()
        # unverified
        raise error_parameter(f"Bad request: endpoint {parsed.deployment.name} does not support the chat task")
    parsed.check(parsed.profile.chat_fields)
    body = parsed.body
    messages = parsed.get_array("messages")
    if not messages:
        raise error_parameter("Missing required Chat parameter: 'messages'", "messages")
    validate_messages(parsed, messages)
    validate_family(parsed)
    validate_sampling(parsed)
    if not _TOOLING.isdisjoint(body):
        _validate_tools(parsed)
    if "top_logprobs" in body:
        _validate_logprobs(parsed)
    if not _REASONING.isdisjoint(body):
        _validate_reasoning(parsed)
    return _build_call(parsed, messages)


def _validate_tools(parsed: ParsedRequest) -> None:
    tools = parsed.get_array("tools")
    validate_tool_choice(parsed.get("tool_choice"), validate_tools(parsed, tools))
    if parsed.get("response_format") is None:
        return
    requested = parsed.get_object("response_format")
    validate_format(parsed, requested)
    kind = as_text(requested["type"])
    if parsed.family == "claude" and kind != "text":
        _validate_claude_format(parsed, kind)
    if kind == "json_object":
        _validate_json_word(parsed)


def _validate_json_word(parsed: ParsedRequest) -> None:
    """Raise for JSON mode without the word "json" in the messages, as OpenAI's models do."""
    setting = parsed.settings.json_word
    if setting == "off" or (setting == "gpt" and parsed.family != "gpt"):
        return
    contents = [as_object(message).get("content") for message in parsed.get_array("messages")]
    if "json" not in dump_text(contents).lower():
        text = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise error_parameter(text, "messages")


def _validate_claude_format(parsed: ParsedRequest, kind: str) -> None:
    """Validate the format for Claude; the texts are unverified.

    Source: docs.databricks.com, "Structured outputs on Databricks".
    """
    if kind == "json_object":
        text = 'Bad request: Claude models support only response_format of type "json_schema"'
        raise error_parameter(text, "response_format")
    if parsed.get("tools") or parsed.get("tool_choice"):
        raise error_parameter(
            "Bad request: response_format cannot be used with tools on Claude models", "response_format"
        )
    if parsed.wants_stream():
        raise error_parameter(
            "Bad request: response_format cannot be used with stream on Claude models", "response_format"
        )


def _validate_logprobs(parsed: ParsedRequest) -> None:
    if parsed.get("top_logprobs") is not None and not parsed.get("logprobs"):
        raise error_parameter("Bad request: top_logprobs requires logprobs to be true", "top_logprobs")
    validate_alternatives(parsed)


def _validate_reasoning(parsed: ParsedRequest) -> None:
    validate_effort(parsed, parsed.get("reasoning_effort"), "reasoning_effort")
    validate_effort(parsed, parsed.get_object("output_config").get("effort"), "output_config.effort")
    if parsed.get("thinking") is None:
        return
    thinking = parsed.get_object("thinking")
    if thinking.get("type") not in ("enabled", "disabled", "adaptive"):
        raise error_parameter('thinking.type: Input should be "enabled", "disabled" or "adaptive"', "thinking")
    budget = thinking.get("budget_tokens")
    if thinking["type"] == "enabled" and (budget is None or as_integer(budget) < 1):
        raise error_parameter("thinking.enabled.budget_tokens: Input should be greater than or equal to 1", "thinking")


def _parse_effort(parsed: ParsedRequest) -> str | None:
    """Return the reasoning effort; ``None`` without reasoning."""
    mode = parsed.traits.get("reasoning")
    if not mode:
        return None
    if mode == "on-request":
        thinking = parsed.get_object("thinking")
        if thinking.get("type") not in ("enabled", "adaptive"):
            return None
        chosen = parsed.get_object("output_config").get("effort")
        budget = thinking.get("budget_tokens")
        return str(chosen or ("medium" if budget is None else "low" if as_integer(budget) <= 2048 else "high"))
    effort = parsed.get("reasoning_effort", "medium")
    return None if effort == "none" else str(effort)


def _build_call(parsed: ParsedRequest, messages: list[JSON]) -> InferenceCall:
    messages_parsed = tuple([parse_message(as_object(message)) for message in messages])
    chat_request, count = _build_request(parsed, messages_parsed)
    marked = _has_cache_marks(parsed)
    call = InferenceCall(
        deployment=parsed.deployment,
        request=chat_request,
        codec=ChatCodec(parsed.settings, parsed.profile.style, parsed.served, parsed.wants_usage(), marked),
        stream=parsed.wants_stream(),
        prompt_tokens=(count,),
        repeatable=parsed.repeatable,
        quotas=parsed.profile.quotas,
        served=parsed.served,
    )
    is_independent = not (marked or parsed.settings.alternate_roles or chat_request.format == "json_object")
    if is_independent and parsed.repeatable:
        limit = partial(_limit_tokens, parsed.profile, _parse_limit(parsed)[1])
        parse_options = partial(options.RememberedOptions, call, limit, parsed.profile.overhead)
        options.remember_chat(parsed.request, parsed.service, parse_options, (parsed.request.params.get("served"),))
    return call


def _has_cache_marks(parsed: ParsedRequest) -> bool:
    """Return whether a validated request marks content for Claude's cache."""
    return parsed.family == "claude" and b'"cache_control"' in parsed.request.body


def _build_request(parsed: ParsedRequest, messages_parsed: tuple[Message, ...]) -> tuple[ChatRequest, int]:
    """Return the vendor-neutral chat request and the tokens of its prompt."""
    body = parsed.body
    tools = tuple([parse_tool(as_object(tool)) for tool in parsed.get_array("tools")]) if "tools" in body else ()
    name, requested = _parse_limit(parsed)
    if name == "max_completion_tokens":
        validate_positive(parsed, name)
    validate_output_limit(parsed, name, requested)
    count, language = parsed.service.count_chat(messages_parsed, tools, parsed.deployment)
    count += parsed.profile.overhead
    limit = _limit_tokens(parsed.profile, requested, count)
    sampling = parse_sampling(
        parsed, limit, (parsed.get_integer("top_logprobs") or 0) if body.get("logprobs") else None
    )
    parallel, effort = takes_parallel(parsed), _parse_effort(parsed)
    if _TOOLING.isdisjoint(body):
        chat_request = ChatRequest(
            messages=messages_parsed, sampling=sampling, parallel=parallel, reasoning=effort, language=language
        )
        return chat_request, count
    choice, named = parse_tool_choice(parsed.get("tool_choice"), tools=bool(tools))
    kind, schema = parse_format(parsed.get("response_format"))
    chat_request = ChatRequest(
        messages=messages_parsed,
        sampling=sampling,
        tools=tools,
        tool_choice=choice,
        tool_name=named,
        parallel=parallel,
        format=kind,
        schema=schema,
        reasoning=effort,
        language=language,
    )
    return chat_request, count


def _parse_limit(parsed: ParsedRequest) -> tuple[str, int | None]:
    """Return the requested maximum of the answer's tokens, after the name of its field."""
    requested = parsed.get_integer("max_tokens")
    if requested is None:
        return "max_completion_tokens", parsed.get_integer("max_completion_tokens")
    return "max_tokens", requested


def _limit_tokens(profile: DeploymentProfile, requested: int | None, count: int) -> int | None:
    """Return the maximum of the answer's tokens within the endpoint's limits; raise if the prompt is too long."""
    context = profile.deployment.context
    if context is not None and count > context:
        raise error_length(profile, count)
    return limit_output(profile, requested, count)
