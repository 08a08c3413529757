"""Codec of the routes in TGI's form: it renders whole responses; ``stream.py`` has the events of streams.

Source: MindIE documentation, "text/stream inference", samples and table of the text mode.
"""

from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.encoding.sse import encode_string
from emulator.protocols.tgi import decode_each, draw_prefill_logprob, report_counts
from emulator.vendors.mindie.generate.shapes import GenerateAnswer, encode_token_fields, find_seed
from emulator.vendors.mindie.generate.stream import stream_generate
from emulator.vendors.mindie.headers import closing_headers, stream_headers

_TOKEN = b'{"id":%d,"logprob":%b,"special":%b,"text":%b}'
_NULLS = ',"logprob":null,"special":null,"text":null}'
_BETWEEN = _NULLS + ',{"id":'


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateCodec(GenerateAnswer):
    """Codec of responses in TGI's form; ``array``: a non-streaming response is an array of one object."""

    array: bool

    def render(self, plan: Plan, request: Request) -> Response:
        text = self.quote_text(plan.choices[0])
        body = b'{"generated_text":%b}' % text
        if self.details:
            body = b'{"details":%b,"generated_text":%b}' % (_encode_details(self, plan), text)
        return Response(200, b"[%b]" % body if self.array else body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(stream_generate(self, plan), stream_headers(plan.key))


def _encode_details(answer: GenerateAnswer, plan: Plan) -> bytes:
    choice = plan.choices[0]
    if answer.settings.token_fields == "filled":
        rows = zip(choice.ids, encode_token_fields(choice, answer.tokenizer), choice.tokens, strict=True)
        tokens = b",".join([_TOKEN % (token, *described, encode_string(text)) for token, described, text in rows])
        prefill = b",".join(_encode_prefill(answer, plan))
    else:
        prefill, tokens = _encode_ids(answer.prefill), _encode_ids(choice.ids)
    prompt, generated = report_counts(plan, answer.prompt_tokens, choice.count)
    return (b'{"prompt_tokens":%d,"finish_reason":%b,"generated_tokens":%d,"prefill":[%b],"seed":%d,"tokens":[%b]}') % (
        prompt,
        answer.quote_finish(choice),
        generated,
        prefill,
        find_seed(plan.key, answer.seed),
        tokens,
    )


def _encode_ids(ids: tuple[int, ...]) -> bytes:
    """Encode tokens of which only the ids are filled in."""
    return ('{"id":' + _BETWEEN.join(map(str, ids)) + _NULLS).encode() if ids else b""


def _encode_prefill(answer: GenerateAnswer, plan: Plan) -> Iterator[bytes]:
    """Yield the tokens of the prompt as JSON."""
    tokenizer = answer.tokenizer
    texts = decode_each(tokenizer, answer.prefill)
    for position, (token, text) in enumerate(zip(answer.prefill, texts, strict=True)):
        logprob = draw_prefill_logprob(plan.key, position)
        special = b"true" if not text and token == tokenizer.bos else b"false"
        yield _TOKEN % (token, b"null" if logprob is None else repr(logprob).encode(), special, encode_string(text))
