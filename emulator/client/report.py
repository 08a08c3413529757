"""The calls of a test for whoever reads why it failed: as lines, and as a page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from emulator.control.models import RequestDetail
from emulator.core.json import JSON

_MOST_LINES = 60
_MOST_LETTERS = 160  # of a line that explains
_REFUSED = 400  # the least status that is no answer to what was asked


def describe_calls(calls: Sequence[RequestDetail]) -> str:
    """One line for each call, and why, where no rule took it or it was refused."""
    if not calls:
        return "no calls were made"
    lines = [line for call in calls for line in _describe(call)]
    if len(lines) > _MOST_LINES:
        lines = [f"  … {len(lines) - _MOST_LINES} lines before these", *lines[-_MOST_LINES:]]
    return "\n".join([f"{len(calls)} call{'s' if len(calls) > 1 else ''} made:", *lines])


def describe_unmatched(calls: Sequence[RequestDetail]) -> str:
    """Calls that a strict scenario refused, each with the rule that came nearest."""
    count = f"{len(calls)} calls match" if len(calls) > 1 else "1 call matches"
    return "\n".join([f"{count} no rule, and the scenario is strict:", *(line for c in calls for line in _describe(c))])


def _describe(call: RequestDetail) -> Iterator[str]:
    parts = [
        f"  #{call.seq} {call.method} {call.path} {call.status or 'no answer'}",
        *((f"attempt {call.attempt}",) if call.attempt > 1 else ()),
        *((call.error,) if call.error else ()),
        *((f"rule {call.rule!r}",) if call.rule else ()),
        *((f"faults {', '.join(call.faults)}",) if call.faults else ()),
        *(() if call.whole else ("the client left",) if call.client_left else ("cut short",)),
        f"{call.duration:.3f} s",
    ]
    yield "  ".join(parts)
    if call.rule is None and (call.status >= _REFUSED or call.error):
        summary = " ".join(call.summary.split())
        yield f"      {summary if len(summary) <= _MOST_LETTERS else summary[: _MOST_LETTERS - 1] + '…'}"


def render_page(title: str, outcome: str, calls: Sequence[RequestDetail]) -> str:
    """The same as HTML, each call whole; it loads nothing."""
    rows = "\n".join(_render(call) for call in calls) or "<p>No calls were made.</p>"
    head = f"<h1>{escape(title)}</h1>\n<pre class=outcome>{escape(outcome)}</pre>"
    return f"{_HEAD.format(title=escape(title))}{head}\n{rows}\n</html>\n"


def _render(call: RequestDetail) -> str:
    line = escape(next(_describe(call)).strip())
    trouble = " class=trouble" if call.error or call.status >= _REFUSED or not call.whole else ""
    parts = [
        f"<p>{escape(call.summary)}</p>",
        _render_part("request", {"headers": call.request.headers, "query": call.request.query}, call.request.body),
        _render_part("answer", dict(call.response.headers), call.response.text or call.response.body),
        *(f"<p>{escape(verdict.text)}</p>" for verdict in call.explanation),
    ]
    return f"<details{trouble}><summary>{line}</summary>\n{chr(10).join(parts)}\n</details>"


def _render_part(name: str, headers: JSON, body: JSON) -> str:
    texts = [_write(headers)] if body is None else [_write(headers), _write(body)]
    return f"<h2>{name}</h2>" + "".join(f"<pre>{escape(text)}</pre>" for text in texts)


def _write(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)


_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ max-width: 70rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.2rem }} h2 {{ font-size: 1rem; margin: .8rem 0 .2rem }}
summary {{ cursor: pointer; font-family: ui-monospace, monospace }}
.trouble > summary {{ font-weight: bold }}
pre {{ overflow: auto; white-space: pre-wrap; padding: .5rem; border: 1px solid #8886; border-radius: 4px }}
</style>
"""
