"""Answers of ``/``, ``/generate`` and ``/generate_stream``.

Source: text-generation-inference, ``router/src/lib.rs`` (shapes) and ``router/src/server.rs`` (headers);
release 0.9.4 at its tag.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

from emulator.core.json import JSON, dump_json, dump_text
from emulator.core.plan import Choice, Plan
from emulator.core.record import record
from emulator.core.tokenizer import Tokenizer
from emulator.core.vendor import Call, Service
from emulator.core.wire import Headers, WireResponse, WireStream
from emulator.dialects.sse import quote
from emulator.dialects.tgi import draw_prefill_logprob, encode_first, pick_seed, reason, report_counts, spell
from emulator.vendors.tgi.errors import CORS, STREAM_HEADERS
from emulator.vendors.tgi.settings import TgiSettings
from emulator.vendors.tgi.tokens import special_text

_JSON: Headers = (("content-type", "application/json"),)
_TOKEN = b'{"id":%d,"text":%b,"logprob":%b,"special":%b}'


@record(frozen=True, slots=True, kw_only=True)
class Generation:
    """What a codec remembers of a request.

    Fields:
        limit: most tokens of the answer; one that reaches it reports ``length``.
        prefill: ids of the prompt, if they are shown.
        echo: goes in front of the answer.
        characters: of the prompt as sent.
        seed: as asked, or ``None``: one is drawn.
        seeded: the answer tells its seed.
        top: likeliest tokens listed beside each token.
    """

    limit: int
    details: bool
    prefill: tuple[int, ...]
    echo: str
    characters: int
    seed: int | None
    seeded: bool
    top: int


def finish(choice: Choice, limit: int) -> str:
    """``finish_reason``: the limit is looked at first, so it hides an end that falls on it.

    Source: text-generation-inference, ``server/text_generation_server/utils/tokens.py``, StoppingCriteria.
    """
    return "length" if len(choice.tokens) >= limit else reason(choice)


def compute_headers(plan: Plan, call: Call, service: Service[TgiSettings, None], characters: int) -> Headers:
    """Timings and counts of an answer in one piece; waiting and validation take no time here."""
    settings = service.settings
    own = sum(len(choice.ids) for choice in plan.choices[:1])
    prompt, generated = report_counts(plan, sum(call.prompt_tokens), own)
    milliseconds = str(int(plan.due * 1000))
    seconds = milliseconds if settings.old else _show_seconds(plan.due)
    headers = (
        ("x-compute-type", settings.compute_type),
        ("x-compute-time", seconds),
        ("x-compute-characters", str(characters)),
        ("x-total-time", milliseconds),
        ("x-validation-time", "0"),
        ("x-queue-time", "0"),
        ("x-inference-time", milliseconds),
        ("x-time-per-token", str(int(plan.due * 1000 / max(1, generated)))),
    )
    if settings.old:
        return headers
    counts = (("x-prompt-tokens", str(prompt)), ("x-generated-tokens", str(generated)))
    return (*headers, *counts)


def _show_seconds(seconds: float) -> str:
    """Without an exponent and without a trailing ``.0``."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".")


def stream_headers(service: Service[TgiSettings, None], characters: int) -> Headers:
    compute = (("x-compute-type", service.settings.compute_type), ("x-compute-characters", str(characters)))
    return (*STREAM_HEADERS, *compute, ("x-accel-buffering", "no"), *CORS)


class GenerateCodec:
    """``array``: a whole answer is an array of one object."""

    def __init__(self, *, array: bool) -> None:
        self._array = array

    def render(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireResponse:
        asked: Generation = call.context
        choices = rank(plan.choices)
        body = f'{{"generated_text":{dump_text(asked.echo + choices[0].text())}'
        body += f',"details":{_details(plan, choices, call, service)}}}' if asked.details else "}"
        headers = (*_JSON, *compute_headers(plan, call, service, asked.characters), *CORS)
        return WireResponse(200, (f"[{body}]" if self._array else body).encode(), headers)

    def stream(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireStream:
        asked: Generation = call.context
        return WireStream(_stream(plan, call, service), stream_headers(service, asked.characters))


GENERATE = GenerateCodec(array=False)
GENERATE_ARRAY = GenerateCodec(array=True)


def rank(choices: Sequence[Choice]) -> list[Choice]:
    """The answer of the highest mean log-probability first, the others as they came."""
    if len(choices) == 1:
        return list(choices)

    def mean(choice: Choice) -> float:
        weights = [entry.logprob for entry in choice.logprobs or ()]
        return sum(weights) / max(1, len(weights))

    best = max(choices, key=mean)
    return [best, *(choice for choice in choices if choice is not best)]


def _details(plan: Plan, choices: Sequence[Choice], call: Call, service: Service[TgiSettings, None]) -> str:
    asked: Generation = call.context
    tokenizer = service.tokenizer(call.deployment)
    prefill = _render_prefill(plan, asked.prefill, tokenizer)
    head = f"{{{_summary(plan, choices[0], asked)}"
    rest = f',"prefill":{prefill},{_token_lists(choices[0], tokenizer, asked.top)}'
    others = ",".join(
        f'{{"generated_text":{dump_text(asked.echo + choice.text())},{_summary(plan, choice, asked, number)},'
        f'"prefill":{prefill},{_token_lists(choice, tokenizer, asked.top)}}}'
        for number, choice in enumerate(choices[1:], 1)
    )
    if not others:
        return f"{head}{rest}}}"
    tokens, comma, top = rest.partition(',"top_tokens":')
    return f'{head}{tokens},"best_of_sequences":[{others}]{comma}{top}}}'


def _summary(plan: Plan, choice: Choice, asked: Generation, number: int = 0) -> str:
    key = plan.key if number == 0 else plan.key + bytes((number,))
    seed = pick_seed(key, asked.seed) if asked.seeded else "null"
    _, generated = report_counts(plan, 0, len(choice.ids))
    return f'"finish_reason":"{finish(choice, asked.limit)}","generated_tokens":{generated},"seed":{seed}'


def _render_prefill(plan: Plan, ids: Sequence[int], tokenizer: Tokenizer) -> str:
    rows = []
    for position, (token, text) in enumerate(zip(ids, spell(tokenizer, ids), strict=True)):
        logprob = draw_prefill_logprob(plan.key, position)
        shown = "null" if logprob is None else repr(logprob)
        named = text or special_text(tokenizer, token)
        rows.append(f'{{"id":{token},"text":{dump_text(named)},"logprob":{shown}}}')
    return f"[{','.join(rows)}]"


def _token_lists(choice: Choice, tokenizer: Tokenizer, top: int) -> str:
    rows = b",".join([_TOKEN % row for row in zip(*_columns(choice, tokenizer), strict=True)]).decode()
    if not top:
        return f'"tokens":[{rows}]'
    tops = ",".join(f"[{row.decode()}]" for row in render_top_tokens(choice, tokenizer, top))
    return f'"tokens":[{rows}],"top_tokens":[{tops}]'


def _columns(choice: Choice, tokenizer: Tokenizer) -> tuple[Sequence[JSON], ...]:
    """Ids, texts as JSON, log-probabilities, and which are special: the end of the sequence alone."""
    texts = list(map(quote, choice.tokens))
    specials = [b"false"] * len(texts)
    if texts and choice.ids[-1] == tokenizer.eos and not choice.tokens[-1]:
        texts[-1] = quote(special_text(tokenizer, tokenizer.eos))
        specials[-1] = b"true"
    weights = [b"0.0"] * len(texts)
    if choice.logprobs:
        weights = dump_json([entry.logprob for entry in choice.logprobs])[1:-1].split(b",")
    return choice.ids, texts, weights, specials


def render_top_tokens(choice: Choice, tokenizer: Tokenizer, top: int) -> Iterator[bytes]:
    """The likeliest tokens in each token's place."""
    for entry in choice.logprobs or ():
        shown = entry.top[:top]
        yield b",".join(
            _TOKEN % (encode_first(tokenizer, t), quote(t), dump_json(weight), b"false") for t, weight in shown
        )


def _stream(plan: Plan, call: Call, service: Service[TgiSettings, None]) -> Iterator[tuple[float, bytes]]:
    asked: Generation = call.context
    old = service.settings.old
    choice = plan.choices[0]
    if not choice.tokens:
        return
    tokenizer = service.tokenizer(call.deployment)
    columns: list[Iterable[JSON]] = [*_columns(choice, tokenizer)]
    template = b'data:{"token":' + _TOKEN if old else b'data: {"index":%d,"token":' + _TOKEN
    if not old:
        columns.insert(0, count(1))
    if asked.top:
        columns.append(render_top_tokens(choice, tokenizer, asked.top))
        template += b',"top_tokens":[%b]'
    rows = zip(*columns, strict=False)
    event = template + b',"generated_text":null,"details":null}\n\n'
    for moment, row in zip(choice.due, islice(rows, len(choice.tokens) - 1), strict=False):
        yield moment, event % row
    text = dump_text(asked.echo + choice.text()).encode()
    last = (*next(rows), text, _stream_details(plan, call, old=old))
    yield choice.due[-1], (template + b',"generated_text":%b,"details":%b}\n\n') % last


def _stream_details(plan: Plan, call: Call, *, old: bool) -> bytes:
    asked: Generation = call.context
    if not asked.details:
        return b"null"
    prompt, _ = report_counts(plan, call.prompt_tokens[0], 0)
    length = "" if old else f',"input_length":{prompt}'
    return f"{{{_summary(plan, plan.choices[0], asked)}{length}}}".encode()
