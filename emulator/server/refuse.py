"""Refusals: headers an author asks for, and what a strict scenario says in no vendor's words."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from emulator.control.explain import describe_nearest
from emulator.core.wire import WireRequest, WireResponse
from emulator.scenario.match import Verdict

log = logging.getLogger("emulator")

NO_WAIT = {"retry-after-ms": "1"}
"""Where waits cost nothing: clients take ``Retry-After: 0`` for no advice and back off by themselves; this they heed.

Source: openai-python, src/openai/_base_client.py, ``_parse_retry_after_header`` and ``_calculate_retry_timeout``.
"""


def refuse_unmatched(wire: WireRequest, verdicts: Sequence[Verdict]) -> WireResponse:
    """The answer of a strict scenario to a call that no rule takes."""
    nearest = describe_nearest(verdicts)
    log.warning("no rule matches %s %s: %s", wire.method, wire.path, nearest)
    text = f"No rule matches this call, and the scenario is strict. {nearest}\n"
    return WireResponse(501, text.encode(), (("Content-Type", "text/plain; charset=utf-8"),))


def with_headers(response: WireResponse, headers: Mapping[str, str]) -> WireResponse:
    """The response with an injected error's own headers in place of equal names."""
    if not headers:
        return response
    replaced = {name.lower() for name in headers}
    kept = tuple(pair for pair in response.headers if pair[0].lower() not in replaced)
    return replace(response, headers=(*kept, *headers.items()))
