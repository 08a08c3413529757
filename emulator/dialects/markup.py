"""What a model writes about its thoughts and calls, for servers that leave them in the text."""

from collections.abc import Callable, Set
from dataclasses import replace

from emulator.core.plan import Choice, Span, SpanKind, Words

THINK = ("<think>\n", "\n</think>\n\n")


def put_in_text(choice: Choice, kinds: Set[SpanKind], mark: Callable[[Span], tuple[str, str]]) -> Choice:
    """The choice with spans of these kinds as text; ``mark`` says what stands before and behind each."""
    tokens = list(choice.tokens)
    spans: list[Span] = []
    for span in choice.spans:
        if span.kind not in kinds:
            spans.append(span)
            continue
        if span.start < span.end:
            opening, closing = mark(span)
            tokens[span.start] = opening + tokens[span.start]
            tokens[span.end - 1] += closing
        if spans and spans[-1].kind == "text":
            spans[-1] = Span("text", spans[-1].start, span.end)
        else:
            spans.append(Span("text", span.start, span.end))
    return replace(choice, said=Words(tuple(tokens), choice.ids), spans=tuple(spans))
