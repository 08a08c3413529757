"""A vendor as the server sees it: a table of endpoints and a few pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from emulator.core.call import Ask, Deployment
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.record import record
from emulator.core.tokenizer import Tokenizer
from emulator.core.wire import WireRequest, WireResponse, WireStream

if TYPE_CHECKING:
    from emulator.core.clock import Clock


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """One request a vendor accepted: what it asks, of whom, and who will word the answer.

    Fields:
        prompt_tokens: per prompt or input; one number for a chat.
        context: whatever the codec wants to remember of the request.
        repeatable: an equal request (method, path, query, body, principal and ``Vendor.reads``) would be read
            the same way whenever it comes, but for ``request`` itself.
    """

    request: WireRequest
    deployment: Deployment
    ask: Ask
    codec: Codec
    stream: bool = False
    prompt_tokens: tuple[int, ...] = (0,)
    context: JSON = None
    repeatable: bool = False


class Codec(Protocol):
    """Words a plan in the vendor's wire format. Never sees a plan with an error."""

    def render(self, plan: Plan, call: Call, service: Service[Any]) -> WireResponse:
        """The answer in one piece."""

    def stream(self, plan: Plan, call: Call, service: Service[Any]) -> WireStream:
        """The same answer, event by event; lazily, for thousands run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route.

    Fields:
        method: ``*`` matches every method that no other row of the same path names.
        path: ``/serving-endpoints/{name}/invocations``; ``{rest:path}`` also spans slashes. Rows are tried
            literal paths first, then in the order of the table.
        parse: validates and gives the call to decide, or, for catalogue and health routes, the whole answer.
            Raises :class:`EmulatedError`.
        open: asks for no credential.
    """

    method: str
    path: str
    parse: Callable[[WireRequest, Service[Any]], Call | WireResponse]
    open: bool = False


class VendorSettings(BaseModel):
    """What a scenario's ``vendors.<name>`` section may set: a profile, and each switch of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


S = TypeVar("S", bound=VendorSettings)


class Metrics(Protocol):
    """Running totals of one vendor since start, for its own metrics page."""

    def total(self, name: str, **labels: str) -> float:
        """A counter's value: ``requests``, ``succeeded``, ``failed``, ``prompt_tokens``, ``completion_tokens``."""

    def samples(self, name: str) -> Sequence[float]:
        """Latest values of ``duration``, ``ttft``, ``itl`` (seconds), ``prompt_tokens``, ``completion_tokens``."""

    def in_flight(self) -> int:
        """Calls being answered now."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service(Generic[S]):
    """One vendor as it runs: what its functions may know of the emulator around it.

    Fields:
        keys: token → principal, or ``None``: any non-empty credential will do.
        started: Unix seconds.
        tokenizer: of a deployment.
        count_prompt: tokens of each prompt or input of an ask, template included.
    """

    name: str
    settings: S
    deployments: Mapping[str, Deployment]
    keys: Mapping[str, str] | None
    clock: Clock
    started: float
    tokenizer: Callable[[Deployment], Tokenizer]
    count_prompt: Callable[[Ask, Deployment], tuple[int, ...]]
    metrics: Metrics

    def principal(self, token: str | None) -> str | None:
        """Who ``token`` belongs to; ``None`` if it opens nothing.

        Without configured keys every non-empty token is good, save one made of zeros only.
        """
        if not token:
            return None
        if self.keys is None:
            return "default" if token.strip("0") else None
        return self.keys.get(token)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vendor:
    """Everything the server needs to stand in for one vendor.

    Fields:
        catalogue: the deployments it serves before a scenario adds its own.
        authenticate: names the principal or raises ``UNAUTHENTICATED``.
        render_error: words any refusal, the vendor's own and injected ones; total over ``ErrorKind``.
            A path no endpoint matches arrives as ``NOT_FOUND`` with ``details["path"]``; a known path with a
            wrong method as ``METHOD_NOT_ALLOWED`` with ``details["allow"]``.
        environment: what to export so that the vendor's clients come to a base URL.
        body_limit: bytes of a request body; more is ``PAYLOAD_TOO_LARGE`` with ``details["limit"]``.
        date: the vendor sends a ``Date`` header.
        lower_case: it writes the names of the framing headers (``content-length``, …) in lower case.
        reads: request headers, beside the credential's, that have a say in how a request is read.
        render_late_error: what a stream says of a failure after it has begun, framing included; ``None``: an
            event with the key ``error``.
    """

    name: str
    title: str
    endpoints: tuple[Endpoint, ...]
    settings: type[VendorSettings]
    catalogue: Callable[[VendorSettings], tuple[Deployment, ...]]
    authenticate: Callable[[WireRequest, Service[Any]], str]
    render_error: Callable[[EmulatedError, WireRequest, Service[Any]], WireResponse]
    environment: Callable[[str], Mapping[str, str]]
    body_limit: int = 64 * 1024**2
    date: bool = True
    lower_case: bool = False
    reads: tuple[str, ...] = ()
    render_late_error: Callable[[EmulatedError, WireRequest, Service[Any]], bytes] | None = None
