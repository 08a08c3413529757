"""What a vendor provides: a table of endpoints and a few pure functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from emulator.core.cancellation import RunningResponses
from emulator.core.cost_limits import DEFAULT, CallBounds
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import FieldNames, Request, Response, StreamingResponse
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.quota import Quota
from emulator.core.requests import Deployment, InferenceRequest, Message, Tool

if TYPE_CHECKING:
    from emulator.core.clock import Clock


class Tokenizer(Protocol):
    """Text to token ids and back, for one model family."""

    vocabulary_size: int
    bos: int | None
    eos: int

    def encode(self, text: str) -> list[int]:
        """Ids of ``text``, without special tokens."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``; special tokens have none, and an id out of range is a ValueError."""

    def pieces(self, text: str) -> list[str]:
        """One text per id of ``encode(text)``, joined again equal to ``text``.

        A token that completes no character has ``""``; the character comes with the token that completes it.
        """

    def count(self, text: str) -> int:
        """``len(encode(text))``, faster."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class InferenceCall:
    """One request a vendor accepted: what it asks, of whom, and who will word the answer.

    Fields:
        codec: made for this call; it remembers what it wants to know of the request.
        prompt_tokens: per prompt or input; one number for a chat.
        repeatable: an equal request (method, path, query, body, principal and ``Vendor.reads``) would be read
            the same way whenever it comes.
        quotas: what it is charged to beside the scenario's limits.
        served: which of several behind the deployment answers.
        delay: seconds before anything of the answer is due, beside the scenario's latency.
        fallback: gives the call to make in its place, should a rule refuse it for lack of capacity.
        store_result: what is kept of the answer, a key and a document, once it is decided.
        at_once: the answer says only that it will be kept, so it does not wait for the model.
        cancel_ids: under which it may be stopped while it is answered, from the answer's key.
        is_cpu_heavy: its answer is large however small the request, so it is worded beside the event loop.
        is_stopped: nobody works on it: it ends at once, without text.
    """

    deployment: Deployment
    request: InferenceRequest
    codec: Codec
    stream: bool = False
    prompt_tokens: tuple[int, ...] = (0,)
    repeatable: bool = False
    quotas: tuple[Quota, ...] = ()
    served: str = ""
    delay: float = 0.0
    fallback: Callable[[], InferenceCall] | None = None
    store_result: Callable[[Plan, Request], tuple[str, JSON]] | None = None
    at_once: bool = False
    cancel_ids: Callable[[bytes], Collection[str]] | None = None
    is_cpu_heavy: bool = False
    is_stopped: bool = False


@fast_dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A document to keep under a key, ``None`` to forget it, and the answer that holds from then on."""

    answer: Response
    key: str
    document: JSON


@fast_dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A request that changes what its vendor keeps or does, unless something refuses it.

    Fields:
        make: what to write, from the documents there are, run again if one of them was changed meanwhile; or the
            answer, where there is nothing to write. Raises :class:`EmulatedError`.
        then: what comes of it for the calls of the session, before the answer goes out.
    """

    make: Callable[[Mapping[str, JSON]], Write | Response]
    then: Callable[[str], Awaitable[None]] | None = None


class Codec(Protocol):
    """Words the plan of one call in the vendor's wire format. Never sees a plan with an error.

    ``request`` is the one to answer; of equal requests the codec was made for the first.
    """

    def render(self, plan: Plan, request: Request) -> Response:
        """The answer in one piece."""

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        """The same answer, event by event; lazily, for thousands run at once."""


Parsed = InferenceCall | Response | StreamingResponse | Change


class VendorSettings(BaseModel):
    """What a scenario's ``vendors.<name>`` section may set: a profile, and each switch of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)


S = TypeVar("S", bound=VendorSettings)
H = TypeVar("H")


class Metrics(Protocol):
    """Running totals of one vendor since start, for its own metrics page."""

    def total(self, name: str, **labels: str) -> float:
        """A counter's value: ``requests``, ``succeeded``, ``failed``, ``prompt_tokens``, ``completion_tokens``.

        ``joined``: how many began while another of their deployment ran. ``failed`` also by ``error``. With
        ``deployment`` and ``served`` only the calls of these, which a refusal names in its ``details``: ``requests``,
        and by the first digit of the status ``4xx`` and ``5xx``.
        """

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """Latest ``duration``, ``ttft``, ``itl`` (seconds), ``prompt_tokens``, ``completion_tokens`` or ``events``.

        With ``deployment``, ``served`` or ``session`` of these only. ``limit`` of all: the most tokens each answer may
        have, 0 where it has no bound.
        """

    def last(self, deployment: str, session: str) -> float | None:
        """When the latest call of a deployment in a session was over, Unix seconds; ``None``: nobody knows of one."""

    def in_flight(self) -> int:
        """Calls being answered now."""

    def working(self, deployment: str) -> int:
        """Those of one deployment."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service(Generic[S, H]):
    """One vendor as it runs: what its functions may know of the emulator around it.

    Fields:
        profiles: of each deployment by name, as ``Vendor.prepare`` found them.
        keys: token → principal, or ``None``: any non-empty credential will do.
        started: Unix seconds.
        tokenizer: of a deployment.
        bounds: what one call may cost.
        count_prompt: tokens of each prompt or input of an ask, template included.
        count_chat: tokens of a conversation with its tools, before the rest of the ask is known.
        count_texts: the same of a conversation that is texts alone, and the locale of the last.
        running: calls that may be stopped.
    """

    name: str
    settings: S
    deployments: Mapping[str, Deployment]
    profiles: Mapping[str, H]
    keys: Mapping[str, str] | None
    clock: Clock
    started: float
    tokenizer: Callable[[Deployment], Tokenizer]
    count_prompt: Callable[[InferenceRequest, Deployment], tuple[int, ...]]
    count_chat: Callable[[Sequence[Message], Sequence[Tool], Deployment], int]
    count_texts: Callable[[Sequence[Message], Deployment], tuple[int, str]]
    metrics: Metrics
    bounds: CallBounds = DEFAULT
    running: RunningResponses = field(default_factory=RunningResponses)

    def principal(self, token: str | None) -> str | None:
        """Who ``token`` belongs to; ``None`` if it opens nothing.

        Without configured keys every non-empty token is good, save one made of zeros only.
        """
        if not token:
            return None
        if self.keys is None:
            return "default" if token.strip("0") else None
        return self.keys.get(token)


@dataclass(frozen=True, slots=True, eq=False)
class FastParser(Generic[S, H]):
    """Reads the usual request at little cost, and every other with all checks.

    Fields:
        fast: to the same call as ``full``. ``None``: there is more to be looked at, or something to refuse.
    """

    fast: Callable[[Request, Service[S, H]], InferenceCall | None]
    full: Callable[[Request, Service[S, H]], Parsed]

    def __call__(self, request: Request, service: Service[S, H]) -> Parsed:
        call = self.fast(request, service)
        return self.full(request, service) if call is None else call


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[S, H]):
    """One route.

    Fields:
        method: ``*`` matches every method that no other row of the same path names.
        path: ``/serving-endpoints/{name}/invocations``; ``{rest:path}`` also spans slashes. Rows are tried
            literal paths first, then in the order of the table.
        parse: validates and gives the call to decide, or, for catalogue and health routes, the whole answer or
            the change that is asked for.
            Of the request's headers it sees those in ``Vendor.reads``. Raises :class:`EmulatedError`.
        is_public: asks for no credential.
        is_stateful: its requests can change something, or need what was kept; a parser sees that.
    """

    method: str
    path: str
    parse: Callable[[Request, Service[S, H]], Parsed]
    is_public: bool = False
    is_stateful: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Plane(Generic[S, H]):
    """Some of a vendor's endpoints, on a port that serves nothing else; port 0 takes a free one."""

    port: int
    endpoints: tuple[Endpoint[S, H], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vendor(Generic[S, H]):
    """Everything the server needs to stand in for one vendor.

    Fields:
        catalogue: the deployments it serves before a scenario adds its own.
        profile_deployment: what no request changes of how a deployment reads and answers; found out once.
        extra_listeners: what has a port of its own, by name; the vendor's own port does not serve it then.
        check_traits: what is wrong with a scenario's traits of a deployment, in a sentence; empty: nothing.
        authenticate: names the principal or raises ``UNAUTHENTICATED``.
        render_error: words any refusal, the vendor's own and injected ones; total over ``ErrorKind``.
            A path no endpoint matches arrives as ``NOT_FOUND`` with ``details["path"]``; a known path with a
            wrong method as ``METHOD_NOT_ALLOWED`` with ``details["allow"]``.
        render_late_error: what a stream says of a failure after it has begun, framing included.
        fields: what members of its JSON answers mean.
        body_limit: bytes of a request body; more is ``PAYLOAD_TOO_LARGE`` with ``details["limit"]``.
        date: the vendor sends a ``Date`` header.
        lower_case: it writes the names of the framing headers (``content-length``, …) in lower case.
        relevant_headers: request headers that have a say in how a request is read; a parser sees no others.
        is_stateful: so it is with all its endpoints.
        provider: what ``name_provider`` gives, if that is not always the vendor's own name.
    """

    name: str
    title: str
    endpoints: tuple[Endpoint[S, H], ...]
    settings: type[S]
    catalogue: Callable[[S], tuple[Deployment, ...]]
    profile_deployment: Callable[[Deployment, S], H]
    authenticate: Callable[[Request, Service[S, H]], str]
    render_error: Callable[[EmulatedError, Request, Service[S, H]], Response]
    render_late_error: Callable[[EmulatedError, Request, Service[S, H]], bytes]
    fields: FieldNames
    body_limit: int = 64 * 1024**2
    date: bool = True
    lower_case: bool = False
    relevant_headers: tuple[str, ...] = ()
    is_stateful: bool = False
    extra_listeners: Callable[[S], Mapping[str, Plane[S, H]]] = lambda settings: {}
    check_traits: Callable[[Deployment], str] = lambda deployment: ""
    provider: Callable[[str], str] | None = None

    def name_provider(self, path: str) -> str:
        """The provider as OpenTelemetry names it, by the path that was asked for."""
        return self.name if self.provider is None else self.provider(path)


def no_profile(deployment: Deployment, settings: VendorSettings) -> None:
    """For a vendor whose deployments have none beyond their own fields."""


AnyVendor = Vendor[Any, Any]  # in one table stand vendors of different settings, which no type can say
AnyService = Service[Any, Any]
AnyEndpoint = Endpoint[Any, Any]
AnyPlane = Plane[Any, Any]
Vendors = Mapping[str, AnyVendor]
