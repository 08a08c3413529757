"""Parse ``POST /v1/chat/completions`` requests.

Source: text-generation-inference, ``router/src/server.rs`` and ``router/src/infer/tool_grammar.rs``.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.requests import ChatRequest, CompletionRequest, Deployment, InferenceRequest, Message
from emulator.core.text import parse_integer
from emulator.core.vendor import AnyService
from emulator.protocols.openai import messages as openai
from emulator.protocols.openai.options import RememberedOptions, recall_chat, remember_chat
from emulator.protocols.tgi import find_served, find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.calls import CALL_FRAME, list_no_call
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST, ChatBody
from emulator.vendors.tgi.chat.messages import format_message
from emulator.vendors.tgi.chat.render import ChatCodec
from emulator.vendors.tgi.chat.shapes import ChatOptions, NoCall
from emulator.vendors.tgi.chat.template import count_chat, count_message, render_chat
from emulator.vendors.tgi.generate.fields import Parameters
from emulator.vendors.tgi.generate.shapes import special_text
from emulator.vendors.tgi.grammar import GrammarType
from emulator.vendors.tgi.images import has_vision, join_chunks, take_pictures
from emulator.vendors.tgi.request import ParsedRequest, Prompt, measure_limit, parse_request, validate_started
from emulator.vendors.tgi.settings import TgiService
from emulator.vendors.tgi.tools import NO_TOOL, OfferedTool, build_tools_schema, parse_tool_choice, tool_refusal


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Chat request converted to a generation: the prompt, parameters and grammar that the router sends on.

    Fields:
        text: the rendered prompt.
        last: text of the last message if it is a user's and all messages are texts, else empty.
        second: the prompt of the second answer, without tools, if the model may call no tool.
    """

    chat: ChatRequest
    parameters: Parameters
    text: str
    last: str
    second: str | None


class _TgiOptions(RememberedOptions):
    """Remembered options whose codec has the lengths of the prompt."""

    __slots__ = ("_asked", "_offered", "_shown", "_tool_prompt")

    def __init__(self, call: InferenceCall, shown: ChatOptions, body: ChatBody) -> None:
        super().__init__(call)
        self._shown = shown
        self._asked = _read_max_tokens(body)
        self._offered = _list_offered(body)
        self._tool_prompt = body.tool_prompt

    def build_call(self, messages: tuple[Message, ...], request: Request, service: AnyService) -> InferenceCall:
        deployment, _, stream, _, _ = self.call
        shown, settings = self._shown, self._shown.settings
        is_alone = len(messages) == 1 and not self._offered and messages[0].role == "user"
        found = count_message(messages[0].text, deployment, service) if is_alone else None
        count, characters, language = found or self._count(messages, self._offered, service)
        limit = measure_limit(settings, deployment, count, self._asked)
        no_call = shown.no_call
        if no_call is not None:
            no_call = NoCall(no_call.tokens, *self._count(messages, (), service)[:2])
        options = ChatOptions(
            settings=settings,
            model=shown.model,
            prompt_tokens=count,
            limit=limit,
            characters=characters,
            usage=shown.usage,
            logprobs=shown.logprobs,
            top=shown.top,
            call_id="0",
            eos=shown.eos,
            no_call=no_call,
        )
        chat = ChatRequest(messages, self.samplings[limit], language, *self.form)
        return InferenceCall(deployment, chat, ChatCodec(options), stream, (count,), True)

    def _count(
        self, messages: Sequence[Message], offered: Sequence[OfferedTool], service: AnyService
    ) -> tuple[int, int, str]:
        """Return tokens, characters and locale of a conversation."""
        deployment = self.call[0]
        turns = [(message.role, message.text) for message in messages]
        text = render_chat(turns, offered, self._tool_prompt, deployment, service.tokenizer(deployment))
        count, language = count_chat(text, messages[-1].text, 0, deployment, service)
        return count, len(text), language


def parse_chat(request: Request, service: TgiService) -> InferenceCall:
    context = (request.headers.get("Content-Type"),)
    has_zero = b"-0" in request.body  # equal to 0 among remembered options, and a float
    if not has_zero:
        call = recall_chat(request, service, context, forbidden=b"\\u0022")  # such a quote may hide a repeated key
        if call is not None:
            return call
    body = serde.read(request, CHAT_REQUEST)
    call = parse_chat_body(service, body)
    is_plain = isinstance(call.request, ChatRequest) and not has_zero and not has_vision(call.deployment)
    if is_plain and isinstance(call.codec, ChatCodec):
        remember_chat(request, service, partial(_TgiOptions, call, call.codec.options, body), context)
    return call


def parse_chat_body(service: TgiService, body: ChatBody) -> InferenceCall:
    """Build the call of a parsed :data:`CHAT_REQUEST`."""
    model = body.model
    deployment = validate_started(find_served_deployment(tuple(service.deployments.values()), model or ""))
    found = build_request(body, deployment, service)
    chat = found.chat
    count, language = count_prompt(found, deployment, service)
    logprobs = bool(body.logprobs)
    prompt = Prompt(text="", count=count)
    parsed = parse_request(service, deployment, prompt, found.parameters, stream=body.stream, logprobs=logprobs)
    tokenizer = service.tokenizer(deployment)
    options = ChatOptions(
        settings=service.settings,
        model=find_served(service).name if model is None or model == "tgi" else model,
        prompt_tokens=count,
        limit=parsed.limit,
        characters=len(found.text),
        usage=body.stream_options.include_usage,
        logprobs=logprobs,
        top=body.top_logprobs or 0,
        call_id=_next_call_id(chat.messages),
        eos=(tokenizer.eos, special_text(tokenizer, tokenizer.eos)),
        no_call=_build_no_call(found, deployment, service),
    )
    return InferenceCall(
        deployment=deployment,
        request=constrain(chat, parsed, language),
        codec=ChatCodec(options),
        stream=body.stream,
        prompt_tokens=(count,),
        repeatable=True,
    )


def build_request(body: ChatBody, deployment: Deployment, service: TgiService) -> Generation:
    """Build the conversation, its prompt, and its parameters with the grammar of a format or of a tool call.

    Source: text-generation-inference, ``router/src/lib.rs:941-1036`` (try_into_generate): tools are looked at before
    the template.
    """
    if body.response_format is not None and body.tools is not None:
        raise tool_refusal("Grammar and tools are mutually exclusive")
    choice, offered, name = parse_tool_choice(body.tool_choice, body.tools)
    pictures = has_vision(deployment)
    tools = tuple([each.tool for each in offered])
    chat = ChatRequest(
        messages=tuple([_parse_message(message, pictures=pictures) for message in body.messages]),
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        call_frame=None if choice == "none" else CALL_FRAME,
    )
    turns = [(str(message["role"]), format_message(message)) for message in body.messages]
    tokenizer = service.tokenizer(deployment)
    grammar, second = body.response_format, None
    if choice != "none":
        grammar = GrammarType("tools", build_tools_schema(tools, optional=choice == "auto"))
        second = render_chat(turns, (), None, deployment, tokenizer) if choice == "auto" else None
        offered = (*offered, NO_TOOL) if choice == "auto" else offered
    extends = not (body.messages and body.messages[-1].get("tool_calls"))
    text = render_chat(turns, offered, body.tool_prompt, deployment, tokenizer, extends=extends)
    return Generation(
        chat=chat,
        parameters=_build_parameters(body, grammar),
        text=text,
        last=_find_last(chat.messages),
        second=second,
    )


def _find_last(messages: Sequence[Message]) -> str:
    """Return the last message's text if it is a user's and all messages are texts, else an empty one."""
    is_text = not any([message.tool_calls or message.tool_call_id or message.media for message in messages])
    return messages[-1].text if is_text and messages and messages[-1].role == "user" else ""


def _list_offered(body: ChatBody) -> tuple[OfferedTool, ...]:
    """Return the tools that the prompt of a valid body shows."""
    choice, offered, _ = parse_tool_choice(body.tool_choice, body.tools)
    return (*offered, NO_TOOL) if choice == "auto" else offered


def count_prompt(
    found: Generation, deployment: Deployment, service: TgiService, text: str | None = None
) -> tuple[int, str]:
    """Return the tokens of the prompt, or of another ``text`` of it, and the locale of the last message."""
    text = found.text if text is None else text
    media = sum([message.media for message in found.chat.messages])
    return count_chat(take_pictures(text)[0] if media else text, found.last, media, deployment, service)


def _build_no_call(found: Generation, deployment: Deployment, service: TgiService) -> NoCall | None:
    """Return the call of no tool, if the model may make it."""
    if found.second is None:
        return None
    tokens = list_no_call(service.tokenizer(deployment))
    return NoCall(tokens, count_prompt(found, deployment, service, found.second)[0], len(found.second))


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
