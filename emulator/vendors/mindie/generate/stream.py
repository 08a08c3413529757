"""Render streaming responses of the TGI-style routes: an event per token.

Source: MindIE-LLM, ``single_req_tgi_text_infer_interface.cpp``.
"""

from collections.abc import Iterator
from itertools import count, islice

from emulator.core.http import Event, Mark
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import PLAIN
from emulator.protocols.tgi import report_counts
from emulator.vendors.mindie.generate.shapes import GenerateAnswer, encode_token_fields, find_seed
from emulator.vendors.mindie.postprocess import ENDED, quote_so_far, time_tokens
from emulator.vendors.mindie.settings import MindieSettings

_TOKEN = b'data: {"token":{"id":%b,"text":%%b,"logprob":%b,"special":%b},'
_AFTER = b'"generated_text":null,"details":null}\n\n'
_AFTER_LAST = b'"generated_text":%b,"details":%b}\n\n'


def stream_generate(answer: GenerateAnswer, plan: Plan) -> Iterator[Event]:
    """Yield the events; the last one has the whole text and, if requested, the details."""
    choice = plan.choices[0]
    if not choice.tokens:
        return
    times = time_tokens(choice, answer.stops, answer.tokenizer)
    last = len(times) - 1
    rows = _list_rows(answer, choice)
    token = _build_template(answer.settings)
    event = token + _AFTER
    for due, row, position in zip(islice(times, last), rows, count(1), strict=False):
        yield due, event % row, position, PLAIN
    ending = answer.quote_text(choice), _encode_details(answer, plan, len(times))
    mark = ENDED if answer.details else Mark.FINISH
    yield times[last], (token + _AFTER_LAST) % (*next(rows), *ending), len(choice.tokens), mark


def _build_template(settings: MindieSettings) -> bytes:
    """Build the template of a token."""
    number = b"%d" if settings.stream_token_id == "scalar" else b"[%d]"
    filled = b"%b" if settings.token_fields == "filled" else b"null"
    return _TOKEN % (number, filled, filled)


def _list_rows(answer: GenerateAnswer, choice: Choice) -> Iterator[tuple[int | bytes, ...]]:
    """Yield the values that fill the template of each token."""
    texts = quote_so_far(choice.tokens) if answer.settings.full_text else map(encode_string, choice.tokens)
    if answer.settings.token_fields == "null":
        return zip(choice.ids, texts, strict=True)
    described = zip(choice.ids, texts, encode_token_fields(choice, answer.tokenizer), strict=True)
    return ((token, text, *rest) for token, text, rest in described)


def _encode_details(answer: GenerateAnswer, plan: Plan, sent: int) -> bytes:
    """Encode ``details`` of the last event; ``sent``: tokens sent, without those inside a stop string."""
    if not answer.details:
        return b"null"
    prompt, generated = report_counts(plan, answer.prompt_tokens, sent)
    return b'{"prompt_tokens":%d,"finish_reason":%b,"generated_tokens":%d,"seed":%d}' % (
        prompt,
        answer.quote_finish(plan.choices[0]),
        generated,
        find_seed(plan.key, answer.seed),
    )
