"""The chat task: a validated request becomes a call.

Source: Databricks, "Foundation model REST API reference", chat task.
"""

from __future__ import annotations

from emulator.core.http import Request
from emulator.core.json import JSON, as_integer, as_object, as_text, dump_text
from emulator.core.requests import ChatRequest, Message, Tool
from emulator.core.vendor import InferenceCall
from emulator.protocols.openai.messages import read_format, read_message, read_tool, read_tool_choice
from emulator.vendors.databricks.chat.messages import check_messages
from emulator.vendors.databricks.chat.render import ChatCodec
from emulator.vendors.databricks.decoder import refusal
from emulator.vendors.databricks.families import is_agent
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import ParsedRequest, find_by_model, messages_refusal
from emulator.vendors.databricks.sampling import (
    check_alternatives,
    check_family,
    check_output_limit,
    check_positive,
    check_sampling,
    count_chat,
    length_refusal,
    limit_output,
    read_sampling,
)
from emulator.vendors.databricks.tools import (
    check_effort,
    check_format,
    check_tool_choice,
    check_tools,
    takes_parallel,
)

# Fields that set the checks and readers below to work.
_TOOLING = frozenset({"tools", "tool_choice", "response_format"})
_REASONING = frozenset({"reasoning_effort", "output_config", "thinking"})


def parse_chat(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/chat/completions``."""
    return read_chat(find_by_model(request, service))


def read_chat(query: ParsedRequest) -> InferenceCall:
    """Validate and read a chat request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    if not query.habits.chats:
        if is_agent(query.deployment):
            raise messages_refusal()
        # unverified
        raise refusal(f"Bad request: endpoint {query.deployment.name} does not support the chat task")
    query.check(query.habits.chat_fields)
    body = query.body
    messages = query.get_array("messages")
    if not messages:
        raise refusal("Missing required Chat parameter: 'messages'", "messages")
    check_messages(query, messages)
    check_family(query)
    check_sampling(query)
    if not _TOOLING.isdisjoint(body):
        _check_tools(query)
    if "top_logprobs" in body:
        _check_logprobs(query)
    if not _REASONING.isdisjoint(body):
        _check_reasoning(query)
    return _make_call(query, messages)


def _check_tools(query: ParsedRequest) -> None:
    tools = query.get_array("tools")
    check_tool_choice(query.get("tool_choice"), check_tools(query, tools))
    if query.get("response_format") is None:
        return
    wanted = query.get_object("response_format")
    check_format(query, wanted)
    kind = as_text(wanted["type"])
    if query.family == "claude" and kind != "text":
        _check_claude_format(query, kind)
    if kind == "json_object":
        _check_json_word(query)


def _check_json_word(query: ParsedRequest) -> None:
    """OpenAI's models take JSON mode only from those who speak of it."""
    asked = query.settings.json_word
    if asked == "off" or (asked == "gpt" and query.family != "gpt"):
        return
    contents = [as_object(message).get("content") for message in query.get_array("messages")]
    if "json" not in dump_text(contents).lower():
        text = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise refusal(text, "messages")


def _check_claude_format(query: ParsedRequest, kind: str) -> None:
    """Source: docs.databricks.com, "Structured outputs on Databricks"; the texts are unverified."""
    if kind == "json_object":
        text = 'Bad request: Claude models support only response_format of type "json_schema"'
        raise refusal(text, "response_format")
    if query.get("tools") or query.get("tool_choice"):
        raise refusal("Bad request: response_format cannot be used with tools on Claude models", "response_format")
    if query.wants_stream():
        raise refusal("Bad request: response_format cannot be used with stream on Claude models", "response_format")


def _check_logprobs(query: ParsedRequest) -> None:
    if query.get("top_logprobs") is not None and not query.get("logprobs"):
        raise refusal("Bad request: top_logprobs requires logprobs to be true", "top_logprobs")
    check_alternatives(query)


def _check_reasoning(query: ParsedRequest) -> None:
    check_effort(query, query.get("reasoning_effort"), "reasoning_effort")
    check_effort(query, query.get_object("output_config").get("effort"), "output_config.effort")
    if query.get("thinking") is None:
        return
    thinking = query.get_object("thinking")
    if thinking.get("type") not in ("enabled", "disabled", "adaptive"):
        raise refusal('thinking.type: Input should be "enabled", "disabled" or "adaptive"', "thinking")
    budget = thinking.get("budget_tokens")
    if thinking["type"] == "enabled" and (budget is None or as_integer(budget) < 1):
        raise refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1", "thinking")


def _effort(query: ParsedRequest) -> str | None:
    """How hard the model thinks, if it does."""
    mode = query.traits.get("reasoning")
    if not mode:
        return None
    if mode == "on-request":
        thinking = query.get_object("thinking")
        if thinking.get("type") not in ("enabled", "adaptive"):
            return None
        chosen = query.get_object("output_config").get("effort")
        budget = thinking.get("budget_tokens")
        return str(chosen or ("medium" if budget is None else "low" if as_integer(budget) <= 2048 else "high"))
    effort = query.get("reasoning_effort", "medium")
    return None if effort == "none" else str(effort)


def _make_call(query: ParsedRequest, messages: list[JSON]) -> InferenceCall:
    said = tuple([read_message(as_object(message)) for message in messages])
    ask, count = _read_ask(query, said)
    return InferenceCall(
        deployment=query.deployment,
        request=ask,
        codec=ChatCodec(query.settings, query.habits.style, query.served, query.wants_usage(), _marks_cache(query)),
        stream=query.wants_stream(),
        prompt_tokens=(count,),
        repeatable=query.repeatable,
        served=query.served,
    )


def _marks_cache(query: ParsedRequest) -> bool:
    """Whether anything in the request, which was checked, is marked for Claude's cache."""
    return query.family == "claude" and b'"cache_control"' in query.request.body


def _read_ask(query: ParsedRequest, said: tuple[Message, ...]) -> tuple[ChatRequest, int]:
    """What is asked, and the tokens of the prompt."""
    body = query.body
    tools = tuple([read_tool(as_object(tool)) for tool in query.get_array("tools")]) if "tools" in body else ()
    count, limit = _fit(query, said, tools)
    sampling = read_sampling(query, limit, (query.get_integer("top_logprobs") or 0) if body.get("logprobs") else None)
    parallel, effort = takes_parallel(query), _effort(query)
    if _TOOLING.isdisjoint(body):
        return ChatRequest(messages=said, sampling=sampling, parallel=parallel, reasoning=effort), count
    choice, named = read_tool_choice(query.get("tool_choice"), tools=bool(tools))
    kind, schema = read_format(query.get("response_format"))
    ask = ChatRequest(
        messages=said,
        sampling=sampling,
        tools=tools,
        tool_choice=choice,
        tool_name=named,
        parallel=parallel,
        format=kind,
        schema=schema,
        reasoning=effort,
    )
    return ask, count


def _fit(query: ParsedRequest, said: tuple[Message, ...], tools: tuple[Tool, ...]) -> tuple[int, int | None]:
    """Tokens of the prompt, and the most an answer may have; both within the endpoint's bounds."""
    name = "max_tokens"
    wanted = query.get_integer(name)
    if wanted is None:
        name = "max_completion_tokens"
        check_positive(query, name)
        wanted = query.get_integer(name)
    check_output_limit(query, name, wanted)
    count = count_chat(query, said, tools)
    context = query.deployment.context
    if context is not None and count > context:
        raise length_refusal(query, count)
    return count, limit_output(query, wanted, count)
