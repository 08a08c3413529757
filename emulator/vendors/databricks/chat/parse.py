"""The chat task: a validated request becomes a call.

Source: Databricks, "Foundation model REST API reference", chat task.
"""

from __future__ import annotations

from typing import Any

from emulator.core.call import ChatAsk, Message
from emulator.core.json import JSON, dump_text
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest
from emulator.dialects.openai import read_format, read_message, read_tool, read_tool_choice
from emulator.vendors.databricks.catalogue import is_agent
from emulator.vendors.databricks.chat.codec import ChatCodec
from emulator.vendors.databricks.chat.fields import list_fields
from emulator.vendors.databricks.chat.messages import check_messages
from emulator.vendors.databricks.decoder import refuse
from emulator.vendors.databricks.reply import Reply
from emulator.vendors.databricks.request import Query, find_by_model, refuse_messages
from emulator.vendors.databricks.sampling import (
    check_output_limit,
    check_positive,
    check_range,
    check_sampling,
    count,
    limit_output,
    prompt_too_long,
    read_sampling,
)
from emulator.vendors.databricks.tools import (
    check_effort,
    check_format,
    check_tool_choice,
    check_tools,
)

# Fields that set the checks and readers below to work.
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
_SAMPLED = frozenset({"temperature", "top_p", "top_k", "n", *_PENALTIES})
_TOOLING = frozenset({"tools", "tool_choice", "response_format"})
_REASONING = frozenset({"reasoning_effort", "output_config", "thinking"})
_CODEC = ChatCodec()
_HARMS = (
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
)


def parse_chat(request: WireRequest, service: Service[Any, Any]) -> Call:
    """``POST /serving-endpoints/chat/completions``."""
    return read_chat(find_by_model(request, service))


def read_chat(query: Query) -> Call:
    """Validate and read a chat request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    if not query.habits.chats:
        if is_agent(query.deployment):
            raise refuse_messages()
        # unverified
        raise refuse(f"Bad request: endpoint {query.deployment.name} does not support the chat task")
    query.check("chat", list_fields)
    body = query.body
    messages = body.get("messages")
    if not messages:
        raise refuse("Missing required Chat parameter: 'messages'", "messages")
    check_messages(query, messages)
    _check_family(query)
    _check_numbers(query)
    if not _TOOLING.isdisjoint(body):
        _check_tools(query)
    if "top_logprobs" in body:
        _check_logprobs(query)
    if not _REASONING.isdisjoint(body):
        _check_reasoning(query)
    return _make_call(query, messages)


def _check_numbers(query: Query) -> None:
    check_positive(query, "max_tokens")
    if _SAMPLED.isdisjoint(query.body):
        return
    check_sampling(query)
    if not _PENALTIES.isdisjoint(query.body):
        check_range(query, "frequency_penalty", -2, 2)
        check_range(query, "presence_penalty", -2, 2)


def _check_family(query: Query) -> None:
    """What single families refuse. Source: databricks-sdk-py issue 1263 and public notes on the newest models."""
    if query.traits.get("fixed_sampling"):
        for name in ("temperature", "top_p", "top_k"):
            if query.get(name) is not None:
                raise refuse(f"{name} is not supported with this model.", name)  # unverified
    if query.family != "gpt":
        return
    if query.settings.gpt_refuses_temperature and query.get("temperature") is not None:
        raise refuse("Unsupported parameter: 'temperature' is not supported with this model.", "temperature")
    if query.settings.gpt_refuses_max_tokens and query.get("max_tokens") is not None:
        text = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        raise refuse(text, "max_tokens")


def _check_tools(query: Query) -> None:
    tools = query.get("tools", [])
    check_tools(query, tools)
    check_tool_choice(query.get("tool_choice"), [tool["function"]["name"] for tool in tools])
    wanted = query.get("response_format")
    if wanted is None:
        return
    check_format(query, wanted)
    kind = wanted["type"]
    if query.family == "claude" and kind != "text":
        _check_claude_format(query, kind)
    if kind == "json_object":
        _check_json_word(query)


def _check_json_word(query: Query) -> None:
    """OpenAI's models take JSON mode only from those who speak of it."""
    asked = query.settings.json_word
    if asked == "off" or (asked == "gpt" and query.family != "gpt"):
        return
    if "json" not in dump_text([m.get("content") for m in query.body["messages"]]).lower():
        text = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise refuse(text, "messages")


def _check_claude_format(query: Query, kind: str) -> None:
    """Source: docs.databricks.com, "Structured outputs on Databricks"; the texts are unverified."""
    if kind == "json_object":
        raise refuse('Bad request: Claude models support only response_format of type "json_schema"', "response_format")
    if query.get("tools") or query.get("tool_choice"):
        raise refuse("Bad request: response_format cannot be used with tools on Claude models", "response_format")
    if wants_stream(query):
        raise refuse("Bad request: response_format cannot be used with stream on Claude models", "response_format")


def _check_logprobs(query: Query) -> None:
    top = query.get("top_logprobs")
    if top is None:
        return
    if not query.get("logprobs"):
        raise refuse("Bad request: top_logprobs requires logprobs to be true", "top_logprobs")
    if not 0 <= top <= 20:
        raise refuse(f"Bad request: top_logprobs must be between 0 and 20, but got {top}", "top_logprobs")


def _check_reasoning(query: Query) -> None:
    check_effort(query, query.get("reasoning_effort"), "reasoning_effort")
    check_effort(query, (query.get("output_config") or {}).get("effort"), "output_config.effort")
    thinking = query.get("thinking")
    if thinking is None:
        return
    if thinking.get("type") not in ("enabled", "disabled", "adaptive"):
        raise refuse('thinking.type: Input should be "enabled", "disabled" or "adaptive"', "thinking")
    budget = thinking.get("budget_tokens")
    if thinking["type"] == "enabled" and (budget is None or budget < 1):
        raise refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1", "thinking")


def wants_stream(query: Query) -> bool:
    """Whether the answer is to be streamed; left out, a setting says."""
    stream = query.body.get("stream")
    return bool(query.settings.stream_default if stream is None else stream)


def _effort(query: Query) -> str | None:
    """How hard the model thinks, if it does."""
    mode = query.traits.get("reasoning")
    if not mode:
        return None
    if mode == "on-request":
        thinking = query.get("thinking") or {}
        if thinking.get("type") not in ("enabled", "adaptive"):
            return None
        chosen = (query.get("output_config") or {}).get("effort")
        budget = thinking.get("budget_tokens")
        return str(chosen or ("medium" if budget is None else "low" if budget <= 2048 else "high"))
    effort = query.get("reasoning_effort", "medium")
    return None if effort == "none" else str(effort)


def _make_call(query: Query, messages: list[JSON]) -> Call:
    body = query.body
    said = tuple([_read_message(message) for message in messages])
    tools = tuple([read_tool(tool) for tool in query.get("tools", ())]) if "tools" in body else ()
    counts, limit = _fit(query, ChatAsk(messages=said, tools=tools))
    sampling = read_sampling(query, limit, query.get("top_logprobs", 0) if body.get("logprobs") else None)
    effort = _effort(query)
    if _TOOLING.isdisjoint(body):
        ask = ChatAsk(messages=said, sampling=sampling, parallel=parallel(query), reasoning=effort)
    else:
        choice, named = read_tool_choice(query.get("tool_choice"), tools=bool(tools))
        kind, schema = read_format(query.get("response_format"))
        ask = ChatAsk(
            messages=said,
            sampling=sampling,
            tools=tools,
            tool_choice=choice,
            tool_name=named,
            parallel=parallel(query),
            format=kind,
            schema=schema,
            reasoning=effort,
        )
    return Call(
        request=query.request,
        deployment=query.deployment,
        ask=ask,
        codec=_CODEC,
        stream=wants_stream(query),
        prompt_tokens=counts,
        context=_find_reply(query),
        repeatable=query.repeatable,
    )


def _read_message(message: dict[str, JSON]) -> Message:
    content = message.get("content")
    if len(message) == 2 and type(content) is str:
        return Message(role=message["role"], text=content)
    return read_message(message)


def _fit(query: Query, ask: ChatAsk) -> tuple[tuple[int, ...], int | None]:
    """Tokens of the prompt, and the most an answer may have; both within the endpoint's bounds."""
    name = "max_tokens"
    wanted = query.body.get(name)
    if wanted is None:
        name = "max_completion_tokens"
        check_positive(query, name)
        wanted = query.body.get(name)
    check_output_limit(query, name, wanted)
    counts = count(query, ask)
    context = query.deployment.context
    if context is not None and counts[0] > context:
        raise prompt_too_long(query, counts[0])
    return counts, limit_output(query, wanted, counts[0])


def _find_reply(query: Query) -> Reply:
    """How the endpoint words its answers; the same for all requests, but for usage in the stream."""
    options = query.body.get("stream_options")
    key = (query.served, bool(options and options.get("include_usage")))
    reply: Reply | None = query.habits.replies.get(key)
    if reply is None:
        reply = query.habits.replies[key] = Reply.of(query, _rate_safety(query))
    return reply


def _rate_safety(query: Query) -> JSON:
    """``extra_fields`` of external Gemini models, the only ones that have any; the inside is unverified."""
    if query.family != "gemini" or query.deployment.mode != "external":
        return None
    return {"safetyRating": [{"category": name, "probability": "NEGLIGIBLE"} for name in _HARMS]}


def parallel(query: Query) -> bool:
    """Whether an answer may call several tools: an endpoint or a setting allows it, the client does not forbid it."""
    allowed = query.settings.parallel_tool_calls or bool(query.traits.get("parallel_tool_calls"))
    return allowed and bool(query.get("parallel_tool_calls", True))
