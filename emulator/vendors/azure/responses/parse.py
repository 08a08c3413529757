"""``POST /responses``: validate a request, and convert it to the core's chat request.

Sources: openai-python, ``types/responses``; learn.microsoft.com, "Azure OpenAI Responses API".
"""

from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_object, dump_json
from emulator.core.requests import ChatRequest, Message, Sampling
from emulator.core.rng import draw_hex
from emulator.protocols.openai.messages import Format
from emulator.protocols.openai.responses import ResponseOptions, build_echo, complete_tool, find_top_logprobs
from emulator.vendors.azure.chat.openai_models import validate_structure
from emulator.vendors.azure.chat.shapes import ANSWER_HARMS, FOUND_HARMS, PROMPT_HARMS
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.bounds import word_range
from emulator.vendors.azure.extra_parameters import validate_parameters
from emulator.vendors.azure.headers import JSON_TYPE, echo_request_id, gateway_headers
from emulator.vendors.azure.members import validate_members
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import ParsedRequest, has_padding, parse_request
from emulator.vendors.azure.responses.file_search import FileSearchResult, search_files
from emulator.vendors.azure.responses.input import list_items, parse_items, validate_calls
from emulator.vendors.azure.responses.models import ResponseRequest
from emulator.vendors.azure.responses.previous_response import PreviousItems, load_previous, validate_previous
from emulator.vendors.azure.responses.prompts import fill_prompt
from emulator.vendors.azure.responses.references import resolve_references, validate_ids
from emulator.vendors.azure.responses.render import ResponsesCodec
from emulator.vendors.azure.responses.tools import OfferedTools, parse_offer
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import RESPONSES_KINDS

_KNOWN = frozenset(ResponseRequest.model_fields)
_PROMPT_RESULT: Object = {"blocked": False, "source_type": "prompt", "content_filter_results": PROMPT_HARMS}
_ANSWER_RESULT: Object = {"blocked": False, "source_type": "completion", "content_filter_results": ANSWER_HARMS}
_ANSWER_BLOCKED: Object = {"blocked": True, "source_type": "completion", "content_filter_results": FOUND_HARMS}
"""Results of the content filter. Source: Azure/azure-rest-api-specs pull request 42141."""
_REFERENCE = "https://platform.openai.com/docs/api-reference/responses/create"
_MOVED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}
_PLACES = {"reasoning_effort": "reasoning.effort", "verbosity": "text.verbosity"}


def parse_responses(request: Request, service: AzureService) -> InferenceCall:
    """Validate and parse a request, with the stored conversation that it continues."""
    parsed = parse_request(request, service, "chat", RESPONSES_KINDS, "responses")
    wire = validate(ResponseRequest, _complete_input(parsed.body))
    _validate_fields(wire, parsed)
    without_effect = validate_parameters(_name_as_chat(wire), parsed.profile, _PLACES)
    earlier, items = load_items(wire, request, service)
    before = earlier.items
    validate_ids(before, items)
    offered = parse_offer(wire, parsed)
    chat_request = _build_request(wire, parsed, [*before, *items], offered)
    validate_calls([*before, *items])
    _validate_json_mode(wire, chat_request)
    searched = search_files(wire, parsed, chat_request)
    prompt_tokens = (service.count_prompt(chat_request, parsed.deployment)[0] + searched.tokens,)
    limit = _limit(wire, parsed, prompt_tokens[0])
    codec = ResponsesCodec(
        profile=parsed.profile,
        options=_build_options(wire, parsed, offered, searched),
        items=tuple(items),
        before=tuple(before),
        previous=earlier,
        hidden=wire.store is False,
        background=wire.background is True,
        streamed=wire.stream is True,
    )
    return InferenceCall(
        deployment=parsed.deployment,
        request=replace(chat_request, sampling=_parse_sampling(wire, limit, without_effect), known=searched.text),
        codec=codec,
        stream=wire.stream is True,
        prompt_tokens=prompt_tokens,
        repeatable=wire.previous_response_id is None and wire.conversation is None and not searched.calls,
        store_result=codec.keep if wire.store is not False or earlier.conversation is not None else None,
        at_once=codec.background and not codec.streamed,
    )


def _complete_input(body: JSON) -> JSON:
    """Return the body with an ``input``, which a prompt or a conversation may stand for."""
    if isinstance(body, dict) and body.get("input") is None and (body.get("prompt") or body.get("conversation")):
        return {**body, "input": ""}
    return body


def load_items(wire: ResponseRequest, request: Request, service: AzureService) -> tuple[PreviousItems, list[Object]]:
    """Return what a request continues, and its own items, with stored ones in place of references.

    Raises:
        EmulatedError: one of them does not exist.
    """
    now = service.clock.now()
    earlier = load_previous(wire, request, now)
    if not wire.input:
        return earlier, []
    return earlier, resolve_references(list_items(wire.input), request, now, stored=wire.store is not False)


def count_input(request: Request, service: AzureService) -> Response:
    """``POST /responses/input_tokens``: count the tokens of a request without generating."""
    parsed = parse_request(request, service, "chat", RESPONSES_KINDS, "responses")
    fields = parsed.body if isinstance(parsed.body, dict) else {}
    given = {name: value for name, value in fields.items() if value is not None}
    wire = validate(ResponseRequest, {"input": "", **given} if isinstance(parsed.body, dict) else parsed.body)
    validate_members("count", parsed.fields, parsed)
    earlier, items = load_items(wire, request, service)
    count = count_items(wire, parsed, [*earlier.items, *items])
    body: Object = {"object": "response.input_tokens", "input_tokens": count}
    headers = (JSON_TYPE, *gateway_headers(request, service.settings.hsts), *echo_request_id(request))
    return Response(200, dump_json(body), headers)


def count_items(wire: ResponseRequest, parsed: ParsedRequest, items: list[Object]) -> int:
    """Return the tokens of a request with these items."""
    chat_request = _build_request(wire, parsed, items, parse_offer(wire, parsed))
    (count,) = parsed.service.count_prompt(chat_request, parsed.deployment)
    return count


def _build_request(
    wire: ResponseRequest, parsed: ParsedRequest, items: list[Object], offered: OfferedTools
) -> ChatRequest:
    """Return the vendor-neutral chat request."""
    texts = [wire.instructions]
    if wire.prompt is not None:
        texts.insert(0, fill_prompt(wire.prompt, parsed.settings.prompts))
    instructions = [Message(role="system", text=text) for text in texts if text]
    messages = (*instructions, *parse_items(items))
    kind, schema = _parse_format(wire, parsed)
    return ChatRequest(
        messages=messages,
        tools=offered.tools,
        tool_choice=offered.choice,
        tool_name=offered.name,
        parallel=wire.parallel_tool_calls is not False,
        format=kind,
        schema=schema,
        reasoning=_parse_effort(wire, parsed),
    )


def _validate_fields(wire: ResponseRequest, parsed: ParsedRequest) -> None:
    """Raise for unknown and contradicting fields."""
    for name in parsed.fields:
        if name not in _KNOWN:
            raise _error_unknown(name)
    validate_members("responses", parsed.fields, parsed)
    if wire.background and wire.store is False:
        text = "Background mode requires 'store' to be true."
        raise refusals.contradicts(text, "background")
    validate_previous(wire)


def _error_unknown(name: str) -> EmulatedError:
    """Return the error of an unknown field, with the new place of a field of chat.

    Source: cline/cline issue 5419 and egoist/chatwise-releases issue 1023 (Azure OpenAI).
    """
    if name in _MOVED:
        text = f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{_MOVED[name]}'."
        advice = "Try again with the new parameter. See the API documentation for more information:"
        return refusals.contradicts(f"{text} {advice} {_REFERENCE}.", None, "unsupported_parameter")
    return refusals.unknown_parameter(name)


def _validate_json_mode(wire: ResponseRequest, chat_request: ChatRequest) -> None:
    """Raise if JSON mode has no "json" in its messages. Source: openai/openai-python issue threads."""
    contents = " ".join([message.text for message in chat_request.messages])
    if chat_request.format == "json_object" and "json" not in contents.lower():
        text = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
        raise refusals.contradicts(f"{text} 'json_object'.", "input")


def _name_as_chat(wire: ResponseRequest) -> Object:
    """Return the fields in which models differ under chat's names; ``None`` for those at their defaults."""
    return {
        "temperature": wire.temperature,
        "top_p": wire.top_p,
        "top_logprobs": wire.top_logprobs or None,
        "reasoning_effort": wire.reasoning.effort if wire.reasoning else None,
        "verbosity": wire.text.verbosity if wire.text else None,
    }


def _parse_format(wire: ResponseRequest, parsed: ParsedRequest) -> tuple[Format, JSON]:
    wanted = wire.text.format if wire.text else None
    if wanted is None:
        return "text", None
    feature = "json" if wanted.type == "json_object" else wanted.type
    if not parsed.profile.supports(feature):
        raise refusals.not_supported(("text", "format"), wanted.type)
    if wanted.type != "json_schema":
        return wanted.type, None
    for name in ("name", "schema"):
        if (wanted.name if name == "name" else wanted.schema_) is None:
            raise refusals.missing_parameter(f"text.format.{name}")
    if wanted.strict:
        validate_structure(str(wanted.name), as_object(wanted.schema_), "text.format.schema", "invalid_json_schema")
    return "json_schema", wanted.schema_


def _parse_effort(wire: ResponseRequest, parsed: ParsedRequest) -> str | None:
    if not parsed.profile.reasoning:
        return None
    effort = (wire.reasoning.effort if wire.reasoning else None) or "medium"
    return None if effort == "none" else effort


def _limit(wire: ResponseRequest, parsed: ParsedRequest, prompt_tokens: int) -> int | None:
    """Return the maximum of output tokens; ``truncation: auto`` drops the oldest items until one token fits."""
    context = parsed.deployment.context
    if wire.truncation == "auto" and context is not None:
        prompt_tokens = min(prompt_tokens, context - (wire.max_output_tokens or 1))
    default, most, wanted = parsed.profile.default_tokens, parsed.deployment.max_output, wire.max_output_tokens
    if parsed.profile.traits.get("provider") == "OpenAI" and most is not None and (wanted or 0) > most:
        message, code = word_range("max_output_tokens", wanted, most, "<=")
        raise refusals.contradicts(message, "max_output_tokens", code)
    return limit_tokens(wire.max_output_tokens, default, parsed.deployment, parsed.settings, prompt_tokens)


def _parse_sampling(wire: ResponseRequest, limit: int | None, without_effect: list[str]) -> Sampling:
    values: list[tuple[str, JSON]] = [("temperature", wire.temperature), ("top_p", wire.top_p)]
    parameters = tuple(
        [parameter for parameter in values if parameter[1] not in (None, 1) and parameter[0] not in without_effect]
    )
    top = find_top_logprobs(wire.top_logprobs, wire.include or ())
    greedy = wire.temperature == 0 and "temperature" not in without_effect
    return Sampling(max_tokens=limit, greedy=greedy, parameters=() if greedy else parameters, logprobs=top)


def _build_options(
    wire: ResponseRequest, parsed: ParsedRequest, offered: OfferedTools, searched: FileSearchResult
) -> ResponseOptions:
    thinking = wire.reasoning
    return ResponseOptions(
        model=parsed.profile.model,
        draw_id=draw_id,
        echo=_build_echo(wire, parsed),
        chat_usage=False,
        stream_usage=True,
        events=True,
        done=False,
        summary=thinking is not None and (thinking.summary or thinking.generate_summary) is not None,
        encrypted="reasoning.encrypted_content" in (wire.include or ()),
        obfuscate=(wire.stream_options or {}).get("include_obfuscation") is not False and has_padding(parsed),
        queued=wire.background is True,
        findings={"content_filters": [_PROMPT_RESULT, _ANSWER_RESULT]} if parsed.profile.filtered else {},
        filtered={"content_filters": [_PROMPT_RESULT, _ANSWER_BLOCKED]} if parsed.profile.filtered else {},
        customs=frozenset([tool.name for tool in offered.tools if tool.bare]),
        searches=searched.calls,
        citations=searched.citations,
    )


def draw_id(key: bytes) -> str:
    """Return the id of a response."""
    return f"resp_{draw_hex(key, 'response')}{draw_hex(key, 'response', 'end', digits=18)}"


def _build_echo(wire: ResponseRequest, parsed: ParsedRequest) -> Object:
    thinking = wire.reasoning
    effort = _parse_effort(wire, parsed) or (thinking.effort if thinking else None)
    text: Object = {"format": {"type": "text"}, "verbosity": "medium", **_drop_nulls(parsed.fields.get("text"))}
    own: Object = {
        "reasoning": {"effort": effort, "summary": thinking.summary if thinking else None},
        "service_tier": "default" if wire.service_tier in (None, "auto") else wire.service_tier,
        "text": text,
        "tool_choice": wire.tool_choice or "auto",
        "tools": [complete_tool(tool) for tool in wire.tools or ()],
    }
    if wire.conversation is not None:
        own["conversation"] = {"id": wire.conversation} if isinstance(wire.conversation, str) else wire.conversation
    absent = [name for name in ("conversation", "prompt") if getattr(wire, name) is None]
    return build_echo(dict(wire), own, without=("prompt_cache_retention", *absent))


def _drop_nulls(value: JSON) -> Object:
    return {name: member for name, member in as_object(value).items() if member is not None} if value else {}
