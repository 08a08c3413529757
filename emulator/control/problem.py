"""Build error responses of the control API as RFC 9457 problem details, such as the mistakes of a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emulator.control.models import Problem, dump_model
from emulator.core.errors import ProblemError
from emulator.core.http import Response
from emulator.scenario.errors import Diagnostic
from emulator.scenario.parsed import ScenarioError

MAX_MISTAKES = 200  # listed in one response


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Build the response of a problem; ``Connection: close`` among ``headers`` closes the connection."""
    pairs = dict(headers or {})
    close = pairs.pop("Connection", "") == "close"
    body = dump_model(problem, exclude_none=True).encode() + b"\n"
    return Response(problem.status, body, (*pairs.items(), ("Content-Type", "application/problem+json")), close=close)


def format_mistakes(rows: Sequence[Diagnostic], between: str) -> str:
    """Join the first 200 diagnostics, and the number of the others."""
    listed = [*map(str, rows[:MAX_MISTAKES])]
    more = len(rows) - len(listed)
    return between.join([*listed, f"and {more} more"] if more else listed)


def show_file(name: str) -> str:
    """Return a path relative to the current folder, or its last part if it is outside: absolute paths stay private."""
    path = Path(name)
    if not path.is_absolute():
        return name
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def refusal_response(error: ProblemError) -> Response:
    return problem_response(Problem(title=error.title, status=error.status, detail=error.detail), error.headers)


def scenario_problem(error: ScenarioError) -> Response:
    """Build the 422 response of an invalid scenario, with each diagnostic as text and as a row."""
    found = [replace(row, file=show_file(row.file)) for row in error.rows]
    rows = [dict(row.as_json()) for row in found[:MAX_MISTAKES]]
    detail = format_mistakes(found, "\n")
    problem = Problem.model_validate(
        {"title": "The scenario has mistakes", "status": 422, "detail": detail, "errors": rows}
    )
    return problem_response(problem)
