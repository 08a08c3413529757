"""Render streaming responses of the routes ``/`` and ``/generate_stream``: one server-sent event per token.

``render.py`` calls it; ``shapes.py`` has the options and the members that whole responses share.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from emulator.core.http import Event
from emulator.core.json import dump_text
from emulator.core.plan import Choice, Plan
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.generate.shapes import TOKEN, GenerateOptions, encode_top_tokens, format_summary, list_columns


def stream_answer(plan: Plan, options: GenerateOptions) -> Iterator[Event]:
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
