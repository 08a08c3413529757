"""Route table of the control API: ``api.py`` finds the handler of a request by it, ``openapi.py`` describes it."""

import re
from dataclasses import KW_ONLY

from pydantic import BaseModel

from emulator.control import models
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import ProblemError


@fast_dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    Fields:
        action: name of the handler, a method of :class:`emulator.control.handlers.Handlers`.
        takes: model of a JSON body; ``None``: no body, or a raw one.
        gives: model of the response; ``None``: a document of type ``media``.
        yaml: the body is a scenario.
        media: content type of a response without a model.
        is_of_journal: needs the journal records of all processes.
        is_open: needs no token and accepts public addresses: probes and static documents.
    """

    method: str
    path: str
    summary: str
    _: KW_ONLY
    action: str = ""
    query: type[BaseModel] = models.NoQuery
    takes: type[BaseModel] | None = None
    gives: type[BaseModel] | None = None
    yaml: bool = False
    media: str = "application/json"
    statuses: tuple[int, ...] = ()
    is_of_journal: bool = False
    is_open: bool = False


def _compile(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(path)))


ROUTES = (
    Route("GET", "", "The console: a page for people, over the routes below.", media="text/html", is_open=True),
    Route("GET", "/health", "Whether the process lives; no scenario changes it.", gives=models.Health, is_open=True),
    Route("GET", "/ready", "Whether everything listens and the scenario is loaded.",
          gives=models.Ready, statuses=(503,), is_open=True),
    Route("GET", "/scenario", "The active scenario.",
          action="get_scenario", query=models.SessionQuery, gives=models.ScenarioState),
    Route("PUT", "/scenario",
          "Put another scenario to work, with fresh counters and quotas; answers that have begun end as they began. "
          "A scenario with mistakes changes nothing.",
          action="put_scenario", query=models.PutQuery, gives=models.ScenarioState, yaml=True,
          statuses=(400, 404, 413, 422)),
    Route("POST", "/check", "What is wrong with a scenario, and what may be; it is put to work nowhere.",
          action="check", gives=models.Checked, statuses=(413,), yaml=True),
    Route("POST", "/parse",
          "The text of a scenario as JSON, and the line and column of each part; the active scenario stays.",
          action="parse", gives=models.Parsed, statuses=(413,), yaml=True),
    Route("GET", "/rules", "Which rules took how many of the calls in the journal.",
          action="list_rules", is_of_journal=True, query=models.SessionQuery, gives=models.Rules),
    Route("GET", "/limits", "How every limit stands, and when it is full again.",
          action="list_limits", query=models.SessionQuery, gives=models.Limits),
    Route("GET", "/status", "What the process is busy with and what it holds.",
          action="get_status", is_of_journal=True, gives=models.ServerStatus),
    Route("POST", "/report",
          "The console with the calls that are kept inside, as one page that opens without the emulator.",
          action="report", is_of_journal=True, takes=models.ReportAsked, media="text/html", statuses=(400, 422)),
    Route("GET", "/scenarios", "The library to switch within.", action="list_scenarios", gives=models.Library),
    Route("POST", "/reset",
          "Clear journal, counters and quotas and restart scenario time; the scenario and its clock stay. Without a "
          "session, all sessions are cleared.",
          action="reset", query=models.SessionQuery, gives=models.ScenarioState),
    Route("GET", "/requests",
          "The stored vendor calls, or those after a sequence number; waits for new ones if asked to.",
          action="list_requests", is_of_journal=True, query=models.RequestsQuery, gives=models.Requests,
          statuses=(400,)),
    Route("GET", "/requests/{id}", "One call whole: what was sent and said, and why which rule matched.",
          action="get_request", is_of_journal=True, query=models.RequestQuery, gives=models.RequestDetail,
          statuses=(404,)),
    Route("GET", "/events",
          "The same calls as server-sent events, each as it comes: `id` is its `seq`, `data` the entry as JSON.",
          query=models.EventsQuery, is_of_journal=True, media="text/event-stream", statuses=(400,)),
    Route("POST", "/verify",
          "Whether the calls were as expected, now or within a time; if not, 406 says what was found instead.",
          action="verify", is_of_journal=True, query=models.RequestQuery, takes=models.Verify, gives=models.Verified,
          statuses=(400, 406, 422)),
    Route("GET", "/verdict",
          "What the client did with errors, waits and broken answers: each rule, and the calls that break it.",
          action="get_verdict", is_of_journal=True, query=models.SessionQuery, gives=models.Verdict),
    Route("GET", "/usage",
          "Which of the tokens sent were delivered in whole answers and which wasted, and what they cost.",
          action="get_usage", is_of_journal=True, query=models.UsageQuery, gives=models.Usage),
    Route("GET", "/deployments", "What can be asked for.",
          action="list_deployments", query=models.DeploymentsQuery, gives=models.Deployments, statuses=(404,)),
    Route("GET", "/open", "Calls that are not answered yet, of all workers and replicas.",
          action="list_open", query=models.SessionQuery, gives=models.OpenCalls),
    Route("GET", "/history", "The load of the last five minutes.", action="get_history", gives=models.History),
    Route("GET", "/examples", "A request to begin with, for each vendor.",
          action="list_examples", gives=models.Examples),
    Route("GET", "/clock", "What time it is.", action="get_clock", query=models.SessionQuery, gives=models.ClockState),
    Route("POST", "/clock", "Move the clock.",
          action="move_clock", query=models.SessionQuery, takes=models.Advance, gives=models.ClockState,
          statuses=(400, 422)),
    Route("GET", "/sessions", "The sessions that exist.", action="list_sessions", gives=models.SessionList),
    Route("DELETE", "/sessions/{name}", "End a session: its ports, clock, state and journal.",
          action="end_session", gives=models.SessionEnded, statuses=(404,)),
    Route("POST", "/sessions/{name}/listen", "A vendor on a port of the session's own.",
          action="listen", takes=models.Listen, gives=models.Listening, statuses=(400, 404, 422)),
    Route("GET", "/timing", "How well the server kept its own schedule.",
          action="get_timing", gives=models.TimingReport),
    Route("GET", "/metrics", "Prometheus text: what calls add up to.",
          action="get_metrics", query=models.MetricsQuery, media="text/plain"),
    Route("GET", "/replicas/metrics", "The same of each process that shares the store, with a label `replica`.",
          media="text/plain"),
    Route("GET", "/ca.pem", "The certificate of the local authority, which clients trust.",
          media="application/pem-certificate-chain", statuses=(404,), is_open=True),
    Route("GET", "/openapi.json", "This document.", action="get_openapi"),
)  # fmt: skip

_BY_PATH: dict[str, dict[str, Route]] = {}
for _route in ROUTES:
    _BY_PATH.setdefault(_route.path, {})[_route.method] = _route
_PATTERNS = [(_compile(path), rows) for path, rows in _BY_PATH.items() if "{" in path]


def find_route(method: str, path: str) -> tuple[Route, str]:
    """Return the route, and the name in its path.

    Raises:
        ProblemError: 404, or 405 with ``Allow``.
    """
    rows, name = _BY_PATH.get(path), ""
    for pattern, candidates in _PATTERNS:
        found = pattern.fullmatch(path)
        if found is not None:
            rows, name = candidates, found[1]
    if rows is None:
        known = ", ".join(f"/_emulator{known}" for known in _BY_PATH)
        raise ProblemError(404, "Not found", f"There is no /_emulator{path}; there are {known}.")
    route = rows.get("GET" if method == "HEAD" else method)
    if route is None:
        allow = ", ".join(sorted({*rows, *(["HEAD"] if "GET" in rows else [])}))
        raise ProblemError(405, "Method not allowed", f"/_emulator{path} takes {allow}.", {"Allow": allow})
    return route, name
