"""Requests to a graph that generates text: chat and completions.

Source: model_server, src/llm/http_llm_calculator.cc and src/llm/apis/openai_completions.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from emulator.core.call import Ask, ChatAsk, CompletionAsk, Message, Sampling
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import Call, Codec
from emulator.core.wire import WireResponse
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.numbers import is_int32, is_uint32
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import Accepted
from emulator.vendors.openvino.responses.codec import RESPONSES
from emulator.vendors.openvino.responses.parse import (
    IGNORED,
    Echoed,
    check_start,
    echo_request,
    read_effort,
    read_input,
    read_max_output_tokens,
)
from emulator.vendors.openvino.sampling import build_sampling, check_engine
from emulator.vendors.openvino.text.checks import read_fields
from emulator.vendors.openvino.text.codec import CHAT, COMPLETIONS, Remembered
from emulator.vendors.openvino.text.fields import Fields, read_flag, read_limit
from emulator.vendors.openvino.text.messages import apply_template, check_media, read_messages
from emulator.vendors.openvino.tokenize import answer_tokenize, tokenizes
from emulator.vendors.openvino.tools import NO_OFFER, Format, Offer, read_response_format, read_tools

_NO_OPTIONS: dict[str, JSON] = {}
_PLAIN: tuple[Format, JSON] = ("text", None)
_PREFIXES = ("/v3/v1/", "/v3/", "/v1/")
_NAMES = ("chat/completions", "completions", "responses")
_PATHS = {prefix + name: (prefix, name) for prefix in _PREFIXES for name in _NAMES}


def _name_endpoint(path: str, release: Release) -> str:
    """One of three names, or nothing for a path the graph does not know."""
    prefix, name = _PATHS.get(path, ("", ""))
    if prefix != "/v3/" and not (release.v3_v1_alias if prefix == "/v3/v1/" else release.v1_alias):
        return ""
    return name if name != "responses" or release.responses_endpoint else ""


def _word_endpoints(release: Release) -> str:
    root = "/v[13]/" if release.v1_alias else "/v3/"
    names = ["chat/completions", "completions", *(["responses", "tokenize"] if release.responses_endpoint else [])]
    return f"Wrong endpoint. Allowed endpoints: {', '.join(root + name for name in names)}"


def parse_generation(accepted: Accepted) -> Call | WireResponse:
    """A request to a text graph, by its exact path.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    name = _name_endpoint(accepted.request.path, accepted.release)
    if not name and tokenizes(accepted):
        return answer_tokenize(accepted)
    if not name:
        refuse(_word_endpoints(accepted.release))
    return _PARSERS[name](accepted)


def _parse_chat(accepted: Accepted) -> Call:
    read = read_fields(accepted)
    body = read.body
    messages = read_messages(read)
    offer = read_tools(read) if "tools" in body or "tool_choice" in body else NO_OFFER
    if "logprobs" in body:
        read.logprobs = read_flag(read, "logprobs")
        if read.logprobs and accepted.stream:
            refuse("logprobs are not supported in streaming mode.")
    if "max_completion_tokens" in body:
        _read_max_completion_tokens(read)
    if read.max_tokens == 0:
        refuse("max_tokens value should be greater than 0")
    kind, schema = read_response_format(read) if "response_format" in body else _PLAIN
    thinks = read.release.tools != "ignored" and _read_template_options(read)
    messages = apply_template(read, messages)
    if read.plain or (accepted.stream and read.release.tools == "unary"):
        offer, thinks = NO_OFFER, False
    reasoning = "medium" if thinks else None
    ask, counted = _ask_chat(read, messages, offer, (kind, schema), reasoning)
    return _finish(read, ask, counted, CHAT, Remembered(read.include_usage))


def _read_max_completion_tokens(read: Fields) -> None:
    """Wins over ``max_tokens``."""
    release = read.release
    if not release.max_completion_tokens:
        return
    limit = read_limit(read, "max_completion_tokens", inclusive=release.max_tokens_limit_is_default)
    cap = release.ignore_eos_limit
    if read.ignore_eos and cap and limit is not None and limit > cap:
        refuse(f"when ignore_eos is true max_completion_tokens can not be greater than {cap}")
    read.max_tokens = limit


def _read_template_options(read: Fields) -> bool:
    """Whether the model thinks aloud: it has the trait ``reasoning``, and the template is not told otherwise."""
    options = _NO_OPTIONS
    if "chat_template_kwargs" in read.body and read.release.chat_template_kwargs:
        options = read.body["chat_template_kwargs"]
        if not isinstance(options, dict):
            refuse("chat_template_kwargs must be an object")
    return options.get("enable_thinking") is not False and bool(read.accepted.deployment.traits.get("reasoning"))


def _parse_completions(accepted: Accepted) -> Call:
    if accepted.kind == "vision" and accepted.release.v1_alias:
        refuse("VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses.")
    read = read_fields(accepted)
    prompt = read.body.get("prompt", ...)
    if prompt is not ... and not isinstance(prompt, str):
        refuse("prompt is not a string")
    if prompt is ... or not prompt:
        refuse("prompt is missing")
    _read_completion_logprobs(read)
    read.echo = read_flag(read, "echo")
    if read.max_tokens == 0 and not read.echo:
        refuse("max_tokens value should be greater than 0 unless echo is set")
    counted = accepted.service.count_prompt(CompletionAsk(prompts=(prompt,)), accepted.deployment)
    ask = CompletionAsk(prompts=(prompt,), sampling=_check_rest(read, counted[0]))
    return _finish(read, ask, counted, COMPLETIONS, Remembered(read.include_usage, echo=prompt if read.echo else ""))


def _read_completion_logprobs(read: Fields) -> None:
    value = read.body.get("logprobs")
    if value is None:
        return
    if not is_int32(value):
        refuse("logprobs accepts integer values")
    if value != 1:
        refuse("accepted logprobs value is currently 1 only")
    if read.accepted.stream:
        refuse("logprobs are not supported in streaming mode.")
    read.logprobs = True


def _check_rest(read: Fields, prompt_tokens: int) -> Sampling:
    """Lengths, then the engine's look at it all; what is asked of the sampler."""
    if read.release.model_length:
        _check_length(read, prompt_tokens)
    check_engine(read)
    return build_sampling(read, prompt_tokens)


def _ask_chat(
    read: Fields, messages: tuple[Message, ...], offer: Offer, form: tuple[Format, JSON], reasoning: str | None
) -> tuple[ChatAsk, tuple[int, ...]]:
    """A conversation with its tools and form, and the tokens of its prompt."""
    accepted = read.accepted
    counted = accepted.service.count_prompt(ChatAsk(messages=messages, tools=offer.tools), accepted.deployment)
    ask = ChatAsk(
        messages=messages,
        sampling=_check_rest(read, counted[0]),
        tools=offer.tools,
        tool_choice=offer.choice,
        tool_name=offer.name,
        parallel=True,
        format=form[0],
        schema=form[1],
        reasoning=reasoning,
    )
    return ask, counted


def _finish(read: Fields, ask: Ask, counted: tuple[int, ...], codec: Codec, remembered: Remembered | Echoed) -> Call:
    accepted = read.accepted
    return Call(
        request=accepted.request,
        deployment=accepted.deployment,
        ask=ask,
        codec=codec,
        stream=accepted.stream,
        prompt_tokens=counted,
        context=remembered,
        repeatable=True,
    )


def _check_length(read: Fields, prompt: int) -> None:
    """Prompt and answer against the model's length, and the bounds of a graph's own pipeline."""
    deployment = read.accepted.deployment
    traits = deployment.traits
    if traits:
        longest: JSON = traits.get("max_prompt_len")
        if is_uint32(longest) and prompt > longest:
            _refuse_length("Input length exceeds the maximum allowed length")
        batch: JSON = traits.get("max_num_batched_tokens")
        if is_uint32(batch) and prompt > batch:
            _refuse_length(f"Input length exceeds pipeline capabilities: {prompt} > {batch}")
    length = deployment.context
    if length is None:
        return
    if prompt > length:
        _refuse_length(f"Number of prompt tokens: {prompt} exceeds model max length: {length}")
    if read.max_tokens is not None and prompt + read.max_tokens > length:
        tokens = f"Number of prompt tokens: {prompt} + max tokens value: {read.max_tokens}"
        _refuse_length(f"{tokens} exceeds model max length: {length}")


def _refuse_length(reason: str) -> NoReturn:
    raise EmulatedError(ErrorKind.CONTEXT_LENGTH, details={"reason": reason})


def _parse_responses(accepted: Accepted) -> Call:
    check_start(accepted)
    accepted.body = {name: value for name, value in accepted.body.items() if name not in IGNORED}
    read = read_fields(accepted)
    messages = read_input(read)
    offer = read_tools(read)
    read_max_output_tokens(read)
    effort = read_effort(read)
    kind, schema = read_response_format(read)
    thinks = _read_template_options(read)
    check_media(read, messages)
    if read.plain:
        offer, thinks = NO_OFFER, False
    reasoning = (effort or "medium") if thinks else None
    ask, counted = _ask_chat(read, messages, offer, (kind, schema), reasoning)
    return _finish(read, ask, counted, RESPONSES, echo_request(read))


_PARSERS: dict[str, Callable[[Accepted], Call]] = {
    "chat/completions": _parse_chat,
    "completions": _parse_completions,
    "responses": _parse_responses,
}
