"""State of a request while it is handled."""

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.handler.context import RequestContext
from tests.handler.toy import make_target


def test_requested_deployment_name_is_truncated() -> None:
    refusal = EmulatedError(ErrorKind.NOT_FOUND, details={"deployment": "d" * 70_000})
    request = Request("POST", "/chat")
    exchange = RequestContext(request, make_target(request), 0.0, refusal=refusal)
    assert exchange.asked == ("d" * 256, "")
