"""Parse ``POST /v1/chat/completions`` requests.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and ``utils/infer_param.cpp``.
"""

from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.http import Request
from emulator.core.requests import ChatRequest, Message
from emulator.core.vendor import AnyService
from emulator.protocols.openai.options import RememberedOptions, recall_chat, remember_chat
from emulator.vendors.mindie.chat.fields import validate_template
from emulator.vendors.mindie.chat.messages import MAX_JSON_GROWTH, Tools, join_parts, parse_messages, parse_tools
from emulator.vendors.mindie.chat.render import ChatCodec
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import (
    ParsedRequest,
    has_odd_numbers,
    measure_lengths,
    parse_body,
    parse_request,
    validate_headers,
)
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.sampling import parse_model
from emulator.vendors.mindie.server_state import list_served, validate_serving


class _MindieOptions(RememberedOptions):
    """Remembered options; the codec has the id of the request and the lengths of prompt and answer."""

    __slots__ = ("_asked", "_codec")

    def __init__(self, call: InferenceCall, codec: ChatCodec, asked: int) -> None:
        super().__init__(call)
        self._codec = codec
        self._asked = asked

    def build_call(self, messages: tuple[Message, ...], request: Request, service: AnyService) -> InferenceCall:
        deployment, _, stream, _, _ = self.call
        count, language = service.count_chat(messages, self.tools, deployment)
        lengths = measure_lengths(service, deployment, count, self._asked)
        request_id = parse_id(request)
        known = self._codec
        codec = ChatCodec(
            id=request_id,
            model=known.model,
            prompt_tokens=lengths.prompt,
            limit=lengths.answer,
            stops=known.stops,
            tokenizer=known.tokenizer,
            full_text=known.full_text,
            split=known.split,
            beams=known.beams,
            prefix_cache=known.prefix_cache,
        )
        chat = ChatRequest(messages, self.samplings[lengths.answer], language, *self.form)
        return InferenceCall(deployment, chat, codec, stream, (lengths.prompt,), True, cancel_ids=request_id.names)


def parse_chat(request: Request, service: MindieService) -> InferenceCall:
    settings = service.settings
    if settings.coordinator or settings.infer_mode == "dmi":  # their requests depend on headers
        return _parse_whole(request, service)[0]
    is_odd = has_odd_numbers(request.body)  # remembered options are those of core/json.py
    limit = min(INLINE_BYTES, settings.max_input_chars // MAX_JSON_GROWTH)
    call = None if is_odd else recall_chat(request, service, limit=limit)
    if call is not None:
        return call
    call, codec, asked = _parse_whole(request, service)
    if not is_odd:
        remember_chat(request, service, partial(_MindieOptions, call, codec, asked))
    return call


def _parse_whole(request: Request, service: MindieService) -> tuple[InferenceCall, ChatCodec, int]:
    """Return the call of a request, its codec, and the requested maximum of completion tokens."""
    settings = service.settings
    validate_headers(request, service)
    fields = parse_body(request, settings)
    joined = join_parts(fields.get("messages"))
    served = list_served(request, service)
    model = parse_model(fields, served, "Model not found")
    deployment = validate_serving(request, served[model])
    tools = parse_tools(fields)
    validate_template(fields)
    messages = parse_messages(joined, settings.max_input_chars, len(request.body), tools=tools.given)
    count, language = service.count_chat(messages, tools.offered, deployment)
    parsed = parse_request(fields, service, deployment, chat=True)
    lengths = measure_lengths(service, deployment, count, parsed.asked)
    chat = _build_request(messages, tools, parsed, lengths.answer, language)
    request_id = parse_id(request)
    codec = ChatCodec(
        id=request_id,
        model=model,
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        stops=parsed.sampling.stops,
        tokenizer=service.tokenizer(deployment),
        full_text=settings.full_text,
        split=settings.enable_reasoning,
        beams=parsed.sampling.beams,
        prefix_cache=settings.prefix_cache,
    )
    call = InferenceCall(
        deployment=deployment,
        request=chat,
        codec=codec,
        stream=parsed.stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=request_id.names,
    )
    return call, codec, parsed.asked


def _build_request(
    messages: tuple[Message, ...], tools: Tools, parsed: ParsedRequest, max_tokens: int, language: str
) -> ChatRequest:
    sampling = parsed.sampling
    return ChatRequest(
        messages=messages,
        sampling=sampling.build_sampling(max_tokens, parsed.logprobs),
        tools=tools.offered,
        tool_choice=tools.choice,
        tool_name=tools.name,
        parallel=tools.name is None,
        format=parsed.form,
        schema=parsed.schema,
        reasoning="medium" if sampling.thinking else None,
        language=language,
    )
