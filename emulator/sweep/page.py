"""Write the outcome of a sweep as one standalone HTML page."""

from collections.abc import Iterator, Sequence
from html import escape

from emulator import __version__
from emulator.sweep.plan import SURVIVED
from emulator.sweep.report import OUTCOMES, count_outcomes, sort_rows
from emulator.sweep.run import Row

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0 0 1.5rem; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; white-space: pre-wrap; }
.o { display: inline-block; border-radius: .3rem; padding: 0 .45rem; margin: .1rem; color: #fff; }
a.o { text-decoration: none; }
.o0 { background: #7a1fa2; } .o1 { background: #b00020; } .o2 { background: #8a4b00; }
.o3 { background: #a05a00; } .o4 { background: #1b6e3c; }
.like { opacity: .8; }
"""


def write_page(rows: Sequence[Row], command: str) -> str:
    """Return the page: a table of faults and positions for each class of calls, then every failure."""
    return "".join(_list_parts(rows, command))


def _list_parts(rows: Sequence[Row], command: str) -> Iterator[str]:
    yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Sweep of {escape(command)}</title>'
    yield f"<style>{_STYLE}</style></head><body>\n<h1>Sweep of <code>{escape(command)}</code></h1>\n"
    yield f"<p>{escape(count_outcomes(rows))}</p>\n<p>"
    yield from (f'<span class="o o{number}">{name}</span>' for number, name in enumerate(OUTCOMES))
    yield "</p>\n<p>Pale: the outcome of another cell, which gives the client the same bytes or lies beside it.</p>\n"
    failures = [row for row in sort_rows(rows) if row.outcome != SURVIVED]
    numbers = {row.key: number for number, row in enumerate(failures, 1)}
    for call in dict.fromkeys(row.call for row in rows):
        yield f"<h2>{escape(call)}</h2>\n<table><tr><th>fault</th><th>positions</th></tr>\n"
        mine = [row for row in rows if row.call == call]
        for fault in dict.fromkeys(row.fault for row in mine):
            cells = "".join(_show_cell(row, numbers.get(row.key)) for row in mine if row.fault == fault)
            yield f"<tr><td>{escape(fault)}</td><td>{cells}</td></tr>\n"
        yield "</table>\n"
    if failures:
        yield "<h2>Failures</h2>\n"
    for number, row in enumerate(failures, 1):
        yield from _show_failure(number, row)
    yield f"<footer>emulator {__version__}</footer></body></html>\n"


def _show_cell(row: Row, number: int | None) -> str:
    style = f"o o{OUTCOMES.index(row.outcome)}{' like' if row.like else ''}"
    text = escape(row.position or row.fault)
    title = f' title="{row.outcome}"'
    return (
        f'<a class="{style}"{title} href="#f{number}">{text}</a>'
        if number
        else f'<span class="{style}"{title}>{text}</span>'
    )


def _show_failure(number: int, row: Row) -> Iterator[str]:
    style = f"o o{OUTCOMES.index(row.outcome)}"
    yield f'<details id="f{number}" open><summary><span class="{style}">{row.outcome}</span> '
    yield f"{escape(row.call)}: {escape(row.name)}</summary>\n"
    if row.like:
        yield f"<p>As {escape(' '.join(row.like[1:]).strip())}.</p>\n"
    yield "".join(f"<p>{escape(text)}</p>\n" for text in row.broken)
    if row.said and not row.like:
        yield f"<p>The command said last:</p><pre>{escape(row.said)}</pre>\n"
    if not row.like:
        yield f"<p>To see it again, serve this scenario:</p><pre>{escape(row.scenario)}</pre>\n"
    yield "</details>\n"
