"""What the control plane refuses, as RFC 9457 problem details."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from emulator.control.models import Problem, dump_model
from emulator.core.errors import ProblemError
from emulator.scenario.errors import Diagnostic
from emulator.scenario.parsed import ScenarioError

MOST_MISTAKES = 200  # that are told one by one


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> web.Response:
    body = dump_model(problem, exclude_none=True).encode()
    return web.Response(
        status=problem.status, body=body, headers=headers, content_type="application/problem+json", charset=None
    )


def format_mistakes(rows: Sequence[Diagnostic], between: str) -> str:
    """All of them, or of very many the first."""
    told = [*map(str, rows[:MOST_MISTAKES])]
    more = len(rows) - len(told)
    return between.join([*told, f"and {more} more"] if more else told)


def show_file(name: str) -> str:
    """Return a file's name without the folders of this machine: from the current folder on, or the last part alone."""
    path = Path(name)
    if not path.is_absolute():
        return name
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def refusal_response(error: ProblemError) -> web.Response:
    return problem_response(Problem(title=error.title, status=error.status, detail=error.detail), error.headers)


def scenario_problem(error: ScenarioError) -> web.Response:
    """Every mistake of a scenario, as text and as rows."""
    found = [replace(row, file=show_file(row.file)) for row in error.rows]
    rows = [dict(row.as_json()) for row in found[:MOST_MISTAKES]]
    detail = format_mistakes(found, "\n")
    problem = Problem.model_validate(
        {"title": "The scenario has mistakes", "status": 422, "detail": detail, "errors": rows}
    )
    return problem_response(problem)
