"""The page on the control plane, from the table of its routes."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from emulator.control.routes import ROUTES, Route

_EFFECTS = {  # shorter than the summary of the OpenAPI document, which is the default
    "GET ": "Console: a web page that uses the routes below.",
    "GET /health": "Report that the process runs; independent of the scenario.",
    "GET /ready": "Report whether every port listens and the scenario is loaded.",
    "GET /scenario": "Return the active scenario.",
    "PUT /scenario": "Load another scenario with fresh counters and quotas. Responses that have begun are not changed. "
    "A scenario with mistakes is rejected.",
    "POST /check": "Check a scenario and return its mistakes and warnings, without loading it.",
    "POST /parse": "Return a scenario as JSON, with the line and column of each part, without loading it.",
    "GET /rules": "Count the recorded requests that each rule matched.",
    "GET /limits": "Return the remaining amount of each limit, and when it is full again.",
    "GET /status": "Return the load and the memory use of the process.",
    "POST /report": "Return the console with the recorded requests inside, as one HTML page that opens without the emulator.",
    "GET /scenarios": "List the scenarios of the library.",
    "POST /reset": "Clear journal, counters and quotas, and restart scenario time; the scenario and its clock stay. "
    "Without a session, all sessions are cleared; their scenarios and clocks stay.",
    "GET /requests": "List the recorded requests; `wait` waits for new ones.",
    "GET /requests/{id}": "Return one request and its response, with the reason for each rule's match or mismatch.",
    "GET /events": "Stream the requests as server-sent events: `id` is the `seq`, `data` the record as JSON.",
    "POST /verify": "Verify that the expected requests were made, now or within a time; otherwise 406 with the difference.",
    "GET /deployments": "List the available deployments.",
    "GET /clock": "Return the scenario time.",
    "POST /clock": "Advance or change the clock.",
    "GET /sessions": "List the sessions.",
    "DELETE /sessions/{name}": "End a session: its ports, clock, state and journal.",
    "POST /sessions/{name}/listen": "Open a port for a vendor that belongs to the session.",
    "GET /timing": "Return the schedule error: how late the server was.",
    "GET /metrics": "Return Prometheus metrics.",
    "GET /replicas/metrics": "Return the metrics of every process that shares the store, with a label `replica`.",
    "GET /ca.pem": "Return the certificate of the local authority, which clients trust.",
    "GET /openapi.json": "Return the OpenAPI document of this API.",
}
_HEAD = """\
<!-- Made by `python -m tests.tools.docs`; a test compares it with the program. -->

# Control API

You control a running emulator over HTTP: change the scenario, move the clock, read the journal, verify requests. The API is below
`/_emulator/` on every port. `/_emulator/openapi.json` describes all requests and responses.

From Python, use `emulator.client` ([testing.md](testing.md#python)), which has a method for everything that tests need.
[operating.md](operating.md#access-control) describes who has access.

| request | effect | query parameters |
| --- | --- | --- |
"""
_REST = """
- **Load a scenario** by sending the file as it is: `curl -T FILE http://127.0.0.1:4010/_emulator/scenario`.
- **Filter requests** by any field of a record: `/requests?status=429&stream=true`.
- **Resume events** after a disconnect with `since=` or the header `Last-Event-ID`.
- **Limit events** with `most=`, the maximum number per second. If there are more, you get the latest, and an event `skipped` with the number of the others.
- **Advance the clock** with the body `{"advance": "60s"}`.
- **Address one session** with `?session=NAME` ([sessions.md](sessions.md)).

## Verify requests

`POST /_emulator/verify` checks the requests that were made. In `calls` you write the same fields as in a rule's `when`, and these fields of the outcome:
`status`, `error`, `rule`, `fault`, `attempt`, `retries`, `whole`, `client_left`, `traced`, `finish_reason` and `completion_tokens`.
With `within`, the request waits up to that time until the expectation is met:

```json
{"session": "a", "calls": {"vendor": "databricks", "prompt": {"contains": "tides"}, "status": 200}, "times": {"exactly": 1}, "within": "2s"}
```

If it is not met, the status is 406 and `detail` shows the nearest requests:

```
expected exactly 1 call of databricks whose prompt contains 'tides', status 200; there was none within 2 s.
2 calls were made in session 'a'; the nearest:
  #17 POST /serving-endpoints/chat/completions 200   prompt: 'What should I know about rivers?'
      vendor ✓   prompt ✗ contains 'tides'   status ✓
```

`times` is `{exactly, at_least, at_most}`; the default is at least one. In place of `calls`, `order: [calls, …]` expects requests in that order;
other requests between them are allowed.
"""


def render() -> str:
    """The whole page."""
    return "".join([_HEAD, *(f"{_tell(route)}\n" for route in ROUTES), _REST])


def _tell(route: Route) -> str:
    fields = [f"`{name}`" for name in route.query.model_fields]
    asked = ", ".join(fields) if len(fields) <= 8 else f"every field of a record, and {', '.join(fields[-4:])}"
    effect = _EFFECTS.get(f"{route.method} {route.path}", route.summary)
    return f"| `{route.method} /_emulator{route.path or '/'}` | {effect} | {asked} |"
