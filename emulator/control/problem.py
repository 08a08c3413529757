"""What the control plane refuses, as RFC 9457 problem details."""

from collections.abc import Mapping

from aiohttp import web

from emulator.control.models import Problem
from emulator.scenario.errors import ScenarioError


class ProblemError(Exception):
    """A control request that cannot be done."""

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        self.problem = Problem(title=title, status=status, detail=detail)
        self.headers = headers or {}
        super().__init__(detail)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> web.Response:
    body = problem.model_dump_json(exclude_none=True).encode()
    return web.Response(
        status=problem.status, body=body, headers=headers, content_type="application/problem+json", charset=None
    )


def scenario_problem(error: ScenarioError) -> web.Response:
    """Every mistake of a scenario, as text and as rows."""
    rows = [dict(row.as_json()) for row in error.rows]
    problem = Problem.model_validate(
        {"title": "The scenario has mistakes", "status": 422, "detail": str(error), "errors": rows}
    )
    return problem_response(problem)
