"""Parse ``POST /v1/chat/completions`` requests.

Source: text-generation-inference, ``router/src/server.rs`` and ``router/src/infer/tool_grammar.rs``.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.requests import ChatRequest, CompletionRequest, Deployment, InferenceRequest, Message
from emulator.core.text import parse_integer
from emulator.core.vendor import AnyService, InferenceCall
from emulator.protocols.openai import messages as openai
from emulator.protocols.openai.options import RememberedOptions, recall_chat, remember_chat
from emulator.protocols.tgi import find_served, find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.calls import CALL_FRAME, list_no_call
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST, ChatBody
from emulator.vendors.tgi.chat.render import ChatCodec
from emulator.vendors.tgi.chat.shapes import ChatOptions, NoCall
from emulator.vendors.tgi.chat.template import alternates, validate_roles
from emulator.vendors.tgi.generate.fields import Parameters
from emulator.vendors.tgi.generate.shapes import special_text
from emulator.vendors.tgi.grammar import GrammarType
from emulator.vendors.tgi.images import has_vision, join_chunks, take_pictures
from emulator.vendors.tgi.request import ParsedRequest, Prompt, measure_limit, parse_request, validate_started
from emulator.vendors.tgi.settings import TgiService
from emulator.vendors.tgi.tools import build_tools_schema, parse_tool_choice, tool_refusal


class _TgiOptions(RememberedOptions):
    """Remembered options whose codec has the lengths of the prompt."""

    __slots__ = ("_alternates", "_asked", "_shown")

    def __init__(self, call: InferenceCall, shown: ChatOptions, asked: int | None) -> None:
        super().__init__(call)
        self._shown = shown
        self._asked = asked
        self._alternates = alternates(call.deployment)

    def build_call(self, messages: tuple[Message, ...], request: Request, service: AnyService) -> InferenceCall:
        deployment, _, stream, _, _ = self.call
        shown, settings = self._shown, self._shown.settings
        count, language = service.count_chat(messages, self.tools, deployment)
        if self._alternates:
            validate_roles([message.role for message in messages])
        limit = measure_limit(settings, deployment, count, self._asked)
        options = ChatOptions(
            settings=settings,
            model=shown.model,
            prompt_tokens=count,
            limit=limit,
            characters=sum([len(message.text) for message in messages]),
            usage=shown.usage,
            logprobs=shown.logprobs,
            top=shown.top,
            call_id="0",
            eos=shown.eos,
            no_call=self._find_no_call(messages, service),
        )
        chat = self.build(messages, self.samplings[limit], language=language)
        return InferenceCall(deployment, chat, ChatCodec(options), stream, (count,), True)

    def _find_no_call(self, messages: tuple[Message, ...], service: AnyService) -> NoCall | None:
        known = self._shown.no_call
        return known and NoCall(known.tokens, service.count_chat(messages, (), self.call[0])[0])


def parse_chat(request: Request, service: TgiService) -> InferenceCall:
    context = (request.headers.get("Content-Type"),)
    call = recall_chat(request, service, context, forbidden=b"\\u0022")  # such a quote may hide a repeated key
    if call is not None:
        return call
    body = serde.read(request, CHAT_REQUEST)
    call = parse_chat_body(service, body)
    if isinstance(call.request, ChatRequest) and isinstance(call.codec, ChatCodec) and not has_vision(call.deployment):
        asked = _read_max_tokens(body)
        remember_chat(request, service, partial(_TgiOptions, call, call.codec.options, asked), context)
    return call


def parse_chat_body(service: TgiService, body: ChatBody) -> InferenceCall:
    """Build the call of a parsed :data:`CHAT_REQUEST`."""
    model = body.model
    deployment = validate_started(find_served_deployment(tuple(service.deployments.values()), model or ""))
    chat, parameters = build_request(body, deployment)
    count, language = service.count_chat(chat.messages, chat.tools, deployment)
    prompt = Prompt(text="", count=count)
    logprobs = bool(body.logprobs)
    parsed = parse_request(service, deployment, prompt, parameters, stream=body.stream, logprobs=logprobs)
    tokenizer = service.tokenizer(deployment)
    options = ChatOptions(
        settings=service.settings,
        model=find_served(service).name if model is None or model == "tgi" else model,
        prompt_tokens=count,
        limit=parsed.limit,
        characters=sum([len(message.text) for message in chat.messages]),
        usage=body.stream_options.include_usage,
        logprobs=logprobs,
        top=body.top_logprobs or 0,
        call_id=_next_call_id(chat.messages),
        eos=(tokenizer.eos, special_text(tokenizer, tokenizer.eos)),
        no_call=_build_no_call(service, chat, deployment),
    )
    return InferenceCall(
        deployment=deployment,
        request=constrain(chat, parsed, language),
        codec=ChatCodec(options),
        stream=body.stream,
        prompt_tokens=(count,),
        repeatable=True,
    )


def build_request(body: ChatBody, deployment: Deployment) -> tuple[ChatRequest, Parameters]:
    """Build the conversation, and its parameters with the grammar of a format or of a tool call.

    Source: text-generation-inference, ``router/src/lib.rs`` (try_into_generate): tools are looked at before the
    template.
    """
    if body.response_format is not None and body.tools is not None:
        raise tool_refusal("Grammar and tools are mutually exclusive")
    choice, tools, name = parse_tool_choice(body.tool_choice, body.tools)
    pictures = has_vision(deployment)
    chat = ChatRequest(
        messages=tuple([_parse_message(message, pictures=pictures) for message in body.messages]),
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        call_frame=None if choice == "none" else CALL_FRAME,
    )
    if alternates(deployment):
        validate_roles([message.role for message in chat.messages])
    grammar = body.response_format
    if choice != "none":
        grammar = GrammarType("tools", build_tools_schema(tools, optional=choice == "auto"))
    return chat, _build_parameters(body, grammar)


def _build_no_call(service: TgiService, chat: ChatRequest, deployment: Deployment) -> NoCall | None:
    """Return the call of no tool, if the model may make it."""
    if chat.tool_choice != "auto":
        return None
    return NoCall(list_no_call(service.tokenizer(deployment)), service.count_chat(chat.messages, (), deployment)[0])


def _parse_message(message: Object, *, pictures: bool) -> Message:
    """Parse one message; without ``pictures``, image parts become Markdown text."""
    content = message.get("content")
    if not isinstance(content, str):
        message = {**message, "content": join_chunks(content)}
    found = openai.parse_message(message)
    if not pictures or found.text.find("![](") < 0:
        return found
    text, media = take_pictures(found.text)
    return replace(found, text=text, media=media)


def _build_parameters(body: ChatBody, grammar: GrammarType | None) -> Parameters:
    """Build the equivalent parameters of generation; only temperature 0 is greedy."""
    return Parameters(
        temperature=body.temperature or None,
        do_sample=body.temperature != 0.0,
        repetition_penalty=None if body.presence_penalty is None else body.presence_penalty + 2.0,
        frequency_penalty=body.frequency_penalty,
        top_p=body.top_p,
        max_new_tokens=_read_max_tokens(body),
        stop=body.stop or (),
        seed=body.seed,
        top_n_tokens=body.top_logprobs,
        grammar=grammar,
    )


def _read_max_tokens(body: ChatBody) -> int | None:
    return body.max_completion_tokens if body.max_tokens is None else body.max_tokens


def constrain(chat: ChatRequest, parsed: ParsedRequest, language: str = "") -> InferenceRequest:
    """Return the request with its sampling and grammar."""
    grammar = parsed.grammar
    if grammar is not None and grammar.bare:
        prompt = "\n".join(message.text for message in chat.messages)
        return CompletionRequest(
            prompts=(prompt,), sampling=parsed.sampling, raw=False, schema=grammar.schema, bare=True
        )
    return ChatRequest(
        messages=chat.messages,
        sampling=parsed.sampling,
        tools=chat.tools,
        tool_choice=chat.tool_choice,
        tool_name=chat.tool_name,
        call_frame=chat.call_frame,
        format="text" if grammar is None else "json_schema",
        schema=None if grammar is None else grammar.schema,
        language=language,
    )


def _next_call_id(messages: Sequence[Message]) -> str | None:
    """Return the next call id: one above the highest; ``None``, a UUID, if an earlier id is not a number."""
    ids = [call.id for message in messages for call in message.tool_calls]
    if not ids:
        return "0"
    if not all(text.isascii() and text.isdigit() for text in ids):
        return None
    return str(max(parse_integer(text) + 1 for text in ids))
