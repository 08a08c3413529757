"""Codec of the routes in TGI's form: whole responses, and streams of an event per token.

Source: MindIE documentation, "text/stream inference", samples and tables of both modes; MindIE-LLM,
``mindie_llm/text_generator/utils/output_filter.py`` and, for streams, ``single_req_tgi_text_infer_interface.cpp``.
"""

from collections.abc import Iterator
from itertools import count, islice

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Tokenizer
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import PLAIN
from emulator.protocols.tgi import choose_seed, decode_each, draw_prefill_logprob, format_finish_reason, report_counts
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import ENDED, Stops, quote_clean, quote_so_far, time_tokens
from emulator.vendors.mindie.settings import MindieSettings

_SEED_BITS = 32
_TOKEN = b'{"id":%d,"logprob":%b,"special":%b,"text":%b}'
_NULLS = ',"logprob":null,"special":null,"text":null}'
_BETWEEN = _NULLS + ',{"id":'
_EVENT_TOKEN = b'data: {"token":{"id":%b,"text":%%b,"logprob":%b,"special":%b},'
_AFTER = b'"generated_text":null,"details":null}\n\n'
_AFTER_LAST = b'"generated_text":%b,"details":%b}\n\n'


def find_finish_reason(choice: Choice, limit: int, settings: MindieSettings) -> str:
    """Return ``finish_reason``; ``length`` takes precedence over any other end at the limit."""
    if choice.finish_reason == "content_filter":
        return settings.invalid_finish_reason
    return "length" if len(choice.tokens) >= limit else format_finish_reason(choice)


def find_seed(key: bytes, asked: int | None) -> int:
    """Return the request's seed, or one of 32 bits drawn from ``key``."""
    return choose_seed(key, asked, _SEED_BITS)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateCodec:
    """Codec of responses in TGI's form.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        prefill: token ids of the prompt, if requested.
        echo: text in front of the response, followed by a space; ``None``: no echo.
        seed: the request's seed; ``None``: draw one.
        array: a non-streaming response is an array of one object.
    """

    prompt_tokens: int
    limit: int
    details: bool
    prefill: tuple[int, ...]
    echo: str | None
    seed: int | None
    stops: Stops
    tokenizer: Tokenizer
    settings: MindieSettings
    array: bool

    def render(self, plan: Plan, request: Request) -> Response:
        text = self._quote_text(plan.choices[0])
        body = b'{"generated_text":%b}' % text
        if self.details:
            body = b'{"details":%b,"generated_text":%b}' % (self._encode_details(plan), text)
        return Response(200, b"[%b]" % body if self.array else body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(self._stream(plan), stream_headers(plan.key))

    def _stream(self, plan: Plan) -> Iterator[Event]:
        """Yield the events; the last one has the whole text and, if requested, the details."""
        choice = plan.choices[0]
        if not choice.tokens:
            return
        times = time_tokens(choice, self.stops, self.tokenizer)
        last = len(times) - 1
        rows = self._list_rows(choice)
        token = _build_template(self.settings)
        event = token + _AFTER
        for due, row, position in zip(islice(times, last), rows, count(1), strict=False):
            yield due, event % row, position, PLAIN
        details = self._summarize(plan, len(times)) if self.details else b"null"
        mark = ENDED if self.details else Mark.FINISH
        event = (token + _AFTER_LAST) % (*next(rows), self._quote_text(choice), details)
        yield times[last], event, len(choice.tokens), mark

    def _quote_text(self, choice: Choice) -> bytes:
        """Encode ``generated_text``."""
        text = choice.text()
        return quote_clean(text if self.echo is None else f"{self.echo} {text}")

    def _encode_details(self, plan: Plan) -> bytes:
        """Encode ``details`` of a whole response."""
        choice = plan.choices[0]
        if self.settings.token_fields == "filled":
            rows = zip(choice.ids, self._describe_tokens(choice), choice.tokens, strict=True)
            tokens = b",".join([_TOKEN % (token, *described, encode_string(text)) for token, described, text in rows])
            prefill = b",".join(self._encode_prefill(plan))
        else:
            prefill, tokens = _encode_ids(self.prefill), _encode_ids(choice.ids)
        return self._summarize(plan, choice.count, b'"prefill":[%b],' % prefill, b',"tokens":[%b]' % tokens)

    def _summarize(self, plan: Plan, count: int, prefill: bytes = b"", tokens: bytes = b"") -> bytes:
        """Encode ``details``; ``count``: tokens sent, in a stream without those inside a stop string."""
        prompt, generated = report_counts(plan, self.prompt_tokens, count)
        reason = find_finish_reason(plan.choices[0], self.limit, self.settings).encode()
        return b'{"prompt_tokens":%d,"finish_reason":"%b","generated_tokens":%d,%b"seed":%d%b}' % (
            prompt,
            reason,
            generated,
            prefill,
            find_seed(plan.key, self.seed),
            tokens,
        )

    def _encode_prefill(self, plan: Plan) -> Iterator[bytes]:
        """Yield the tokens of the prompt as JSON."""
        texts = decode_each(self.tokenizer, self.prefill)
        for position, (token, text) in enumerate(zip(self.prefill, texts, strict=True)):
            logprob = draw_prefill_logprob(plan.key, position)
            special = b"true" if not text and token == self.tokenizer.bos else b"false"
            yield _TOKEN % (token, b"null" if logprob is None else repr(logprob).encode(), special, encode_string(text))

    def _list_rows(self, choice: Choice) -> Iterator[tuple[int | bytes, ...]]:
        """Yield the values that fill the template of each token."""
        texts = quote_so_far(choice.tokens) if self.settings.full_text else map(encode_string, choice.tokens)
        if self.settings.token_fields == "null":
            return zip(choice.ids, texts, strict=True)
        described = zip(choice.ids, texts, self._describe_tokens(choice), strict=True)
        return ((token, text, *rest) for token, text, rest in described)

    def _describe_tokens(self, choice: Choice) -> Iterator[tuple[bytes, bytes]]:
        """Yield ``logprob`` and ``special`` of each token as JSON."""
        for index, token in enumerate(choice.ids):
            logprob = "null" if choice.logprobs is None else repr(choice.logprobs[index].logprob)
            yield logprob.encode(), b"true" if token == self.tokenizer.eos else b"false"


def _encode_ids(ids: tuple[int, ...]) -> bytes:
    """Encode tokens of which only the ids are filled in."""
    return ('{"id":' + _BETWEEN.join(map(str, ids)) + _NULLS).encode() if ids else b""


def _build_template(settings: MindieSettings) -> bytes:
    """Build the template of an event's token."""
    number = b"%d" if settings.stream_token_id == "scalar" else b"[%d]"
    filled = b"%b" if settings.token_fields == "filled" else b"null"
    return _EVENT_TOKEN % (number, filled, filled)
