"""Codec of ``/``, ``/generate`` and ``/generate_stream``: whole responses, and streams of an event per token.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import dump_text
from emulator.core.plan import Choice, Plan
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE
from emulator.protocols.tgi import decode_each, draw_prefill_logprob, report_counts
from emulator.vendors.tgi.generate.shapes import (
    TOKEN,
    GenerateOptions,
    encode_top_tokens,
    format_summary,
    list_columns,
    special_text,
)
from emulator.vendors.tgi.headers import response_headers, stream_headers
from emulator.vendors.tgi.keepalive import keep_alive


@fast_dataclass(frozen=True, slots=True)
class GenerateCodec:
    """Codec of TGI's own form."""

    options: GenerateOptions

    def render(self, plan: Plan, request: Request) -> Response:
        options = self.options
        choices = _rank(plan.choices)
        body = f'{{"generated_text":{dump_text(options.echo + choices[0].text())}'
        body += f',"details":{_format_details(plan, choices, options)}}}' if options.details else "}"
        headers = response_headers(plan, options.settings, options.prompt_tokens, options.characters)
        return Response(200, (f"[{body}]" if options.array else body).encode(), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = stream_headers(self.options.settings, self.options.characters)
        return StreamingResponse(keep_alive(_stream(plan, self.options), plan), headers)


def _rank(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with the highest mean log-probability first, the others in order."""
    if len(choices) == 1:
        return list(choices)

    def mean(choice: Choice) -> float:
        logprobs = [entry.logprob for entry in choice.logprobs or ()]
        return sum(logprobs) / max(1, len(logprobs))

    best = max(choices, key=mean)
    return [best, *(choice for choice in choices if choice is not best)]


def _format_details(plan: Plan, choices: Sequence[Choice], options: GenerateOptions) -> str:
    prefill = f'"prefill":{_format_prefill(plan, options)}'
    best, *others = choices
    tokens, top = _format_tokens(best, options)
    parts = [format_summary(plan, best, options), prefill, tokens]
    if others:
        sequences = (_format_sequence(plan, choice, options, n, prefill) for n, choice in enumerate(others, 1))
        parts.append(f'"best_of_sequences":[{",".join(sequences)}]')
    return f"{{{','.join([*parts, *top])}}}"


def _format_sequence(plan: Plan, choice: Choice, options: GenerateOptions, number: int, prefill: str) -> str:
    text = f'"generated_text":{dump_text(options.echo + choice.text())}'
    tokens, top = _format_tokens(choice, options)
    return f"{{{','.join([text, format_summary(plan, choice, options, number), prefill, tokens, *top])}}}"


def _format_prefill(plan: Plan, options: GenerateOptions) -> str:
    rows = []
    tokenizer, ids = options.tokenizer, options.prefill
    for position, (token, text) in enumerate(zip(ids, decode_each(tokenizer, ids), strict=True)):
        logprob = draw_prefill_logprob(plan.key, position)
        weight = "null" if logprob is None else repr(logprob)
        named = text or special_text(tokenizer, token)
        rows.append(f'{{"id":{token},"text":{dump_text(named)},"logprob":{weight}}}')
    return f"[{','.join(rows)}]"


def _format_tokens(choice: Choice, options: GenerateOptions) -> tuple[str, Sequence[str]]:
    """Format ``tokens`` and, if requested, ``top_tokens``."""
    columns = zip(*list_columns(choice, options.tokenizer), strict=True)
    tokens = f'"tokens":[{b",".join([TOKEN % row for row in columns]).decode()}]'
    if not options.top:
        return tokens, ()
    rows = encode_top_tokens(choice, options.tokenizer, options.top)
    return tokens, [f'"top_tokens":[{",".join([f"[{row.decode()}]" for row in rows])}]']


def _stream(plan: Plan, options: GenerateOptions) -> Iterator[Event]:
    """Yield one event per token; the last one repeats the whole text."""
    choice = plan.choices[0]
    total = len(choice.tokens)
    if not total:
        return
    template, rows = _list_rows(choice, options)
    event = template + b',"generated_text":null,"details":null}\n\n'
    for position, moment, row in zip(range(1, total), choice.due, rows, strict=False):
        yield moment, event % row, position, PLAIN
    text = dump_text(options.echo + choice.text()).encode()
    details, mark = (_encode_details(plan, options), FINISH | USAGE) if options.details else (b"null", FINISH)
    last = (template + b',"generated_text":%b,"details":%b}\n\n') % (*next(rows), text, details)
    yield choice.due[-1], last, total, mark


def _list_rows(choice: Choice, options: GenerateOptions) -> tuple[bytes, Iterator[tuple[object, ...]]]:
    """Return the template of an event, and the values of each token that fill it."""
    columns: list[Iterable[object]] = [*list_columns(choice, options.tokenizer)]
    template = b'data: {"index":%d,"token":' + TOKEN
    if options.settings.old:
        template = b'data:{"token":' + TOKEN
    else:
        columns.insert(0, count(1))
    if options.top:
        template += b',"top_tokens":[%b]'
        columns.append(encode_top_tokens(choice, options.tokenizer, options.top))
    return template, zip(*columns, strict=False)


def _encode_details(plan: Plan, options: GenerateOptions) -> bytes:
    prompt, _ = report_counts(plan, options.prompt_tokens, 0)
    length = "" if options.settings.old else f',"input_length":{prompt}'
    return f"{{{format_summary(plan, plan.choices[0], options)}{length}}}".encode()
