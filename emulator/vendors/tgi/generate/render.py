"""Codec of ``/``, ``/generate`` and ``/generate_stream``: it renders whole responses; ``stream.py`` has the events.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import dump_text
from emulator.core.plan import Choice, Plan
from emulator.protocols.tgi import decode_each, draw_prefill_logprob
from emulator.vendors.tgi.generate.shapes import (
    TOKEN,
    GenerateOptions,
    encode_top_tokens,
    format_summary,
    list_columns,
    special_text,
)
from emulator.vendors.tgi.generate.stream import stream_answer
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
        return StreamingResponse(keep_alive(stream_answer(plan, self.options), plan), headers)


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
