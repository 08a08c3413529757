"""Answers of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion, ChatCompletionChunk) and
``router/src/chat.rs``. The model writes a call as JSON and the router passes its arguments on as they come;
where the finish reason of a streamed call stands is unverified.
"""

from collections.abc import Iterator, Mapping

from emulator.core.json import JSON, dump_json, dump_text, parse_json
from emulator.core.plan import Choice, Logprob, Plan, Span
from emulator.core.record import record
from emulator.core.seed import draw_uuid
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.sse import DONE, quote
from emulator.dialects.tgi import report_counts
from emulator.vendors.tgi.errors import CORS
from emulator.vendors.tgi.generate.codec import compute_headers, finish, stream_headers
from emulator.vendors.tgi.settings import TgiSettings

CALL_ID = "0"  # of a call in an answer in one piece, whatever came before


@record(frozen=True, slots=True, kw_only=True)
class Chat:
    """What the codec remembers of a chat request.

    Fields:
        usage: a stream ends with a chunk of token counts.
        call_id: of a streamed tool call; ``None``: one is drawn.
    """

    limit: int
    model: str
    characters: int
    usage: bool
    logprobs: bool
    top: int
    call_id: str | None


def name_finish(choice: Choice, limit: int) -> str:
    """``finish_reason`` as OpenAI calls the end of a sequence; a stop string keeps TGI's word."""
    name = finish(choice, limit)
    return "stop" if name == "eos_token" else name


def shape_usage(prompt: int, completion: int) -> JSON:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class ChatCodec:
    """Chat completions, whole or in chunks."""

    def render(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireResponse:
        asked: Chat = call.context
        choice = plan.choices[0]
        body = {
            "object": "chat.completion",
            "id": "",
            "created": int(plan.created),
            "model": asked.model,
            "system_fingerprint": service.settings.fingerprint,
            "choices": [
                {
                    "index": 0,
                    "message": _message(choice),
                    "logprobs": _shape_logprobs(choice.logprobs or (), asked) if asked.logprobs else None,
                    "finish_reason": name_finish(choice, asked.limit),
                }
            ],
            "usage": shape_usage(*report_counts(plan, call.prompt_tokens[0], len(choice.ids))),
        }
        headers = compute_headers(plan, call, service, asked.characters)
        return WireResponse(200, dump_json(body), (("content-type", "application/json"), *headers, *CORS))

    def stream(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireStream:
        asked: Chat = call.context
        return WireStream(_stream(plan, call, service), stream_headers(service, asked.characters))


CHAT = ChatCodec()


def _message(choice: Choice) -> JSON:
    calls = choice.tool_calls
    if not calls:
        return {"role": "assistant", "content": choice.text() + choice.text("refusal")}
    function = {"description": None, "name": calls[0][0], "arguments": _compact(calls[0][1])}
    return {"role": "assistant", "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


def _compact(arguments: str) -> str:
    """Arguments as the router writes them again; what is no JSON stays."""
    try:
        return dump_text(parse_json(arguments))
    except ValueError:
        return arguments


def _shape_logprobs(entries: tuple[Logprob, ...], asked: Chat) -> JSON:
    return {"content": [_shape_logprob(entry, asked.top) for entry in entries]}


def _shape_logprob(entry: Logprob, top: int) -> JSON:
    tops = [{"token": text, "logprob": weight} for text, weight in entry.top[:top]]
    return {"token": entry.token, "logprob": entry.logprob, "top_logprobs": tops}


def _stream(plan: Plan, call: Call, service: Service[TgiSettings, None]) -> Iterator[tuple[float, bytes]]:
    asked: Chat = call.context
    choice = plan.choices[0]
    head = _chunk_head(plan, asked, service.settings)
    calls = [span for span in choice.spans if span.kind == "tool_call"]
    if calls:
        call_id = draw_uuid(plan.key, "call") if asked.call_id is None else asked.call_id
        yield from _stream_call(choice, calls[0], head, quote(call_id), quote(name_finish(choice, asked.limit)))
    else:
        yield from _stream_text(choice, head, asked)
    due = choice.due[-1] if choice.tokens else plan.due
    if asked.usage:
        counts = dump_json(shape_usage(*report_counts(plan, call.prompt_tokens[0], len(choice.ids))))
        yield due, b'%b"choices":[],"usage":%b}\n\n' % (head, counts)
    yield due, DONE


def _chunk_head(plan: Plan, asked: Chat, settings: TgiSettings) -> bytes:
    head: Mapping[str, JSON] = {
        "object": "chat.completion.chunk",
        "id": "",
        "created": int(plan.created),
        "model": asked.model,
        "system_fingerprint": settings.fingerprint,
    }
    return b"data: %b," % dump_json(head)[:-1]


_CHUNK = b'%b"choices":[{"index":0,"delta":{"role":"assistant",%b},"logprobs":%b,"finish_reason":%b}],"usage":null}\n\n'


def _stream_text(choice: Choice, head: bytes, asked: Chat) -> Iterator[tuple[float, bytes]]:
    last = len(choice.tokens) - 1
    if last < 0:
        return
    if asked.logprobs and choice.logprobs is not None:
        weights = [dump_json(_shape_logprobs((entry,), asked)) for entry in choice.logprobs]
    else:
        weights = [b"null"] * len(choice.tokens)
    before = head + b'"choices":[{"index":0,"delta":{"role":"assistant","content":'
    between, after = b'},"logprobs":', b',"finish_reason":null}],"usage":null}\n\n'
    for moment, token, weight in zip(choice.due, choice.tokens[:last], weights, strict=False):
        yield moment, b"".join((before, quote(token), between, weight, after))
    end = (quote(choice.tokens[last]), between, weights[last], quote(name_finish(choice, asked.limit)))
    yield choice.due[last], b'%b%b%b%b,"finish_reason":%b}],"usage":null}\n\n' % (before, *end)


def _stream_call(
    choice: Choice, span: Span, head: bytes, call_id: bytes, reason: bytes
) -> Iterator[tuple[float, bytes]]:
    """The tool's name comes with the opening brace, the rest of the arguments token by token."""
    start, end = span.start, span.end
    if start >= len(choice.tokens):
        return
    rest = [choice.tokens[start].removeprefix("{"), *choice.tokens[start + 1 : end]]
    while len(rest) > 1 and not rest[-1]:
        rest.pop()  # the end of the sequence
    yield choice.due[start], _CHUNK % (head, _delta(call_id, quote(span.name), "{"), b"null", b"null")
    for offset, text in enumerate(rest):
        last = offset == len(rest) - 1
        if text or last:
            due = choice.due[-1] if last else choice.due[start + offset]
            yield due, _CHUNK % (head, _delta(call_id, b"null", text), b"null", reason if last else b"null")


def _delta(call_id: bytes, name: bytes, arguments: str) -> bytes:
    call = b'"tool_calls":[{"index":0,"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}]'
    return call % (call_id, name, quote(arguments))
