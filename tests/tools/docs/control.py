"""The page on the control plane, from the table of its routes."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from emulator.control.routes import ROUTES, Route

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
- **Limit events** with `most=`, the maximum number per second. Of more you get the latest, and an event `skipped` with the number of the others.
- **Advance the clock** with the body `{"advance": "60s"}`.
- **Address one session** with `?session=NAME` ([sessions.md](sessions.md)).

## Verify requests

`POST /_emulator/verify` checks the requests that were made. `calls` takes the fields of a rule's `when`. It also takes fields of the outcome:
`status`, `error`, `rule`, `fault`, `attempt`, `retries`, `whole`, `client_left`, `traced`, `finish_reason` and `completion_tokens`.
`within` waits until the expectation is met:

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
    asked = ", ".join(fields) if len(fields) <= 8 else f"every field of a call, and {', '.join(fields[-4:])}"
    return f"| `{route.method} /_emulator{route.path or '/'}` | {route.summary} | {asked} |"
