"""Requests to chat.

Source: model_server, src/llm/http_llm_calculator.cc and src/llm/apis/openai_completions.cpp.
"""

from __future__ import annotations

from emulator.core.call import ChatAsk, Message
from emulator.core.json import JSON
from emulator.core.vendor import Call
from emulator.dialects.openai import Format
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Accepted, Fields, read_flag
from emulator.vendors.openvino.sampling import settle_sampling
from emulator.vendors.openvino.text.codec import ChatCodec
from emulator.vendors.openvino.text.fields import read_fields, read_max_completion_tokens
from emulator.vendors.openvino.text.messages import apply_template, read_messages
from emulator.vendors.openvino.tools import NO_OFFER, PLAIN_TEXT, Offer, read_response_format, read_tools

_NO_OPTIONS: dict[str, JSON] = {}


def parse_chat(accepted: Accepted) -> Call:
    """A conversation to go on with.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    release = accepted.release
    read = read_fields(accepted)
    body = read.body
    messages = read_messages(read)
    offer = read_tools(read) if "tools" in body or "tool_choice" in body else NO_OFFER
    if "logprobs" in body:
        _read_logprobs(read)
    if "max_completion_tokens" in body:
        read_max_completion_tokens(read)
    if read.max_tokens == 0:
        raise refusal("max_tokens value should be greater than 0")
    form = read_response_format(read) if "response_format" in body else PLAIN_TEXT
    thinks = thinks_aloud(read) and release.since(2025, 2)
    messages = apply_template(read, messages)
    if accepted.stream:
        offer = NO_OFFER if release.tools == "unary" else offer
        thinks = thinks and release.since(2025, 3)
    ask, counted = ask_chat(read, messages, offer, form, "medium" if thinks else None)
    deployment = accepted.deployment
    vision_or_stateful = accepted.servable.kind == "vision" or accepted.servable.stateful
    codec = ChatCodec(
        settings=accepted.settings,
        model=deployment.name,
        prompt=ask.prompt or "",
        include_usage=read.include_usage,
        stateful=accepted.servable.stateful,
        omits_logprobs=release.since(2026, 1) and vision_or_stateful,
    )
    return Call(
        deployment=deployment, ask=ask, codec=codec, stream=accepted.stream, prompt_tokens=counted, repeatable=True
    )


def _read_logprobs(read: Fields) -> None:
    read.logprobs = read_flag(read, "logprobs")
    if read.logprobs and read.accepted.stream:
        raise refusal("logprobs are not supported in streaming mode.")


def thinks_aloud(read: Fields) -> bool:
    """Whether the model does: it has the trait ``reasoning``, and the template is not told otherwise.

    Raises:
        EmulatedError: the options of the template are no object.
    """
    options = _NO_OPTIONS
    if "chat_template_kwargs" in read.body and read.release.chat_template_kwargs:
        value = read.body["chat_template_kwargs"]
        if not isinstance(value, dict):
            raise refusal("chat_template_kwargs must be an object")
        options = value
    return options.get("enable_thinking") is not False and read.accepted.servable.thinks


def ask_chat(
    read: Fields, messages: tuple[Message, ...], offer: Offer, form: tuple[Format, JSON], reasoning: str | None
) -> tuple[ChatAsk, tuple[int, ...]]:
    """A conversation with its tools and form, and the tokens of its prompt; nothing is read out of a ``plain`` text.

    Raises:
        EmulatedError: the prompt is too long, or the engine takes offence.
    """
    accepted = read.accepted
    if read.plain:
        offer, reasoning = NO_OFFER, None
    counted = accepted.service.count_prompt(ChatAsk(messages=messages, tools=offer.tools), accepted.deployment)
    ask = ChatAsk(
        messages=messages,
        sampling=settle_sampling(read, counted[0]),
        tools=offer.tools,
        tool_choice=offer.choice,
        tool_name=offer.name,
        parallel=True,
        format=form[0],
        schema=form[1],
        reasoning=reasoning,
    )
    return ask, counted
