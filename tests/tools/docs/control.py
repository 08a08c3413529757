"""The page on the control plane, from the table of its routes."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from emulator.control.routes import ROUTES, Route

_HEAD = """\
<!-- Made by `python -m tests.tools.docs`; a test compares it with the program. -->

# Steering it while it runs

Under `/_emulator/` on every port; `/_emulator/openapi.json` describes all that these routes take and give. `emulator.client` has a method for each
of those that tests need ([testing.md](testing.md)), and [operating.md](operating.md) says who may ask.

| request | does | asks for |
| --- | --- | --- |
"""
_REST = """
A scenario is sent as it is: `curl -T FILE http://127.0.0.1:4010/_emulator/scenario`. Every field of a call filters the list of them
(`/requests?status=429&stream=true`); `/events` goes on where one left off with `since=` or `Last-Event-ID`, and with
`most=` tells of so many calls a second at most: of more the latest, and an event `skipped` says how many were not told. `{"advance": "60s"}` moves the clock.
`?session=NAME` means that session alone ([sessions.md](sessions.md)).

## Asking whether the calls were as expected

`POST /_emulator/verify` takes the facets of a rule's `when`, and of the outcome `status`, `error`, `rule`, `fault`, `attempt`, `retries`,
`whole`, `client_left`, `traced`, `finish_reason` and `completion_tokens`; `within` waits until it holds:

```json
{"session": "a", "calls": {"vendor": "databricks", "prompt": {"contains": "tides"}, "status": 200}, "times": {"exactly": 1}, "within": "2s"}
```

```
expected exactly 1 call of databricks whose prompt contains 'tides', status 200; there was none within 2 s.
2 calls were made in session 'a'; the nearest:
  #17 POST /serving-endpoints/chat/completions 200   prompt: 'What should I know about rivers?'
      vendor ✓   prompt ✗ contains 'tides'   status ✓
```

`times` is `{exactly, at_least, at_most}`, without a word at least one; `order: [calls, …]` in place of `calls` wants them one after the
other, others between them allowed.
"""


def render() -> str:
    """The whole page."""
    return "".join([_HEAD, *(f"{_tell(route)}\n" for route in ROUTES), _REST])


def _tell(route: Route) -> str:
    fields = [f"`{name}`" for name in route.query.model_fields]
    asked = ", ".join(fields) if len(fields) <= 8 else f"every field of a call, and {', '.join(fields[-4:])}"
    return f"| `{route.method} /_emulator{route.path or '/'}` | {route.summary} | {asked} |"
