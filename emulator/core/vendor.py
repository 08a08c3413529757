"""Vendor interface: a table of endpoints, and pure functions that parse requests and render responses.

``vendors/`` implements it, ``handler/`` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from emulator.core.cache import BoundedCache
from emulator.core.calls import InferenceCall, Parsed
from emulator.core.cancellation import RunningResponses
from emulator.core.cost_limits import DEFAULT_BOUNDS, CallBounds
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import FieldNames, Request, Response, StreamingResponse
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.requests import Deployment, InferenceRequest, Message, Tool

if TYPE_CHECKING:
    from emulator.core.clock import Clock


class VendorSettings(BaseModel):
    """Base of a scenario's ``vendors.<name>`` section."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    def ignores_tools(self) -> bool:
        """Return whether no request offers tools under these settings."""
        return False


class ChatTemplateError(ValueError):
    """A chat template refuses a conversation; ``line``: of the template, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class ChatTemplate(Protocol):
    """Chat template of a model.

    Fields:
        names: variables that it reads.
    """

    names: frozenset[str]

    def __call__(self, values: Mapping[str, JSON]) -> str:
        """Return the rendered conversation.

        Raises:
            ChatTemplateError: the template refuses the conversation, or fails.
        """


class Tokenizer(Protocol):
    """Tokenizer of a model family.

    Fields:
        specials: texts of ``bos`` and ``eos`` in a real vocabulary; empty for a profile, whose vendors have their own.
    """

    vocabulary_size: int
    bos: int | None
    eos: int
    specials: Mapping[int, str]

    @property
    def render(self) -> ChatTemplate | None:
        """Return the model's own chat template; ``None`` if none is known."""

    def encode(self, text: str) -> list[int]:
        """Return the token ids of ``text``, without special tokens."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``; special tokens have no text.

        Raises:
            ValueError: an id is outside the vocabulary.
        """

    def pieces(self, text: str) -> list[str]:
        """Return one text per id of ``encode(text)``; joined, they equal ``text``.

        A token that completes no character has ``""``; the token that completes a character has the whole of it.
        """

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return start and stop of the characters of each token, in bytes; the tokens of one character all have its."""

    def count(self, text: str) -> int:
        """Return ``len(encode(text))``, faster."""


S = TypeVar("S", bound=VendorSettings)
H = TypeVar("H")


class RequestOutcome(NamedTuple):
    """How requests ended.

    Fields:
        error: kind of error, ``late_error`` for one in a stream, ``client_left`` or ``cut``; ``""``: none.
        begun: they reached a deployment.
        reason: ``details["reason"]`` of the refusal, for vendors whose own metrics tell it.
    """

    path: str
    error: str
    status: int
    begun: bool
    reason: str = ""


class Metrics(Protocol):
    """Totals of one vendor since start, from which the vendor renders a metrics page of its own."""

    def total(self, name: str, **labels: str) -> float:
        """Return the value of a counter.

        Names: ``requests``, ``succeeded``, ``failed``, ``prompt_tokens``, ``completion_tokens``, ``joined``,
        ``prompts`` (of calls whose response began).
        ``joined`` counts calls that began while another of the same deployment ran. ``failed`` takes a label
        ``error``. Labels ``deployment`` and ``served`` select calls by the names that a refusal has in its
        ``details``, for ``requests`` and the status classes ``4xx`` and ``5xx``.
        """

    def outcomes(self) -> Mapping[RequestOutcome, int]:
        """Return the number of requests by outcome."""

    def samples(self, name: str, **labels: str) -> Sequence[float]:
        """Return the latest samples of a series.

        Names: ``duration``, ``ttft``, ``itl`` (seconds), ``prompt_tokens``, ``completion_tokens``, ``events``.
        Labels ``deployment``, ``served`` and ``session`` select. ``limit`` has the maximum tokens of each answer,
        0 if unbounded, and takes no labels.
        """

    def last(self, deployment: str, session: str) -> float | None:
        """Return the end of the latest call of a deployment in a session, Unix seconds; ``None`` without a call."""

    def in_flight(self) -> int:
        """Return the number of running calls of the vendor."""

    def working(self, deployment: str) -> int:
        """Return the number of running calls of a deployment."""

    def generating(self, deployment: str) -> int:
        """Return the number of answers that the running calls of a deployment generate: one a prompt and choice."""


class WholeCodec:
    """Base of the codecs of calls that never stream."""

    __slots__ = ()

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        raise AssertionError(f"{type(self).__name__} never streams")


class ParsedOptions(Protocol):
    """Parsed members of a chat request other than its messages."""

    def build_call(self, messages: tuple[Message, ...], request: Request, service: AnyService) -> InferenceCall:
        """Return the call of valid messages.

        Raises:
            EmulatedError: the conversation is too long.
        """


OptionsKey = tuple[str, tuple[Hashable, ...], bool, bytes]
"""Path, header and query values, whether there is a plain ``user``, and the JSON of the other options."""


class OptionsCache(BoundedCache[OptionsKey, ParsedOptions | None]):
    """Cache of chat options; ``None``: seen once."""

    max_entries = 512


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service(Generic[S, H]):
    """Running vendor under one scenario: settings, deployments, and the functions that parsers may use.

    Fields:
        profiles: result of ``Vendor.profile_deployment`` by deployment name.
        keys: token → principal; ``None``: any non-empty credential is accepted.
        started: Unix seconds.
        tokenizer: returns the tokenizer of a deployment.
        bounds: cost limits of one request.
        count_prompt: returns the tokens of each prompt or input of a request, template included.
        count_chat: returns the tokens of a conversation with its tools, before the rest of the request is parsed, and
            the locale of its last message; the locale is empty unless all messages are text and the last is a user's.
        count_parts: returns the tokens of a rendered conversation as the texts between its special tokens, with its
            media and without these tokens, and the locale of the last message, whose text the last part has if given.
        running: running responses that can be cancelled.
        options: options of earlier chat requests.
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
    count_chat: Callable[[Sequence[Message], Sequence[Tool], Deployment], tuple[int, str]]
    count_parts: Callable[[Sequence[str], str, int, Deployment], tuple[int, str]]
    metrics: Metrics
    bounds: CallBounds = DEFAULT_BOUNDS
    running: RunningResponses = field(default_factory=RunningResponses)
    options: OptionsCache = field(default_factory=OptionsCache)

    def principal(self, token: str | None) -> str | None:
        """Return the principal of a credential, or ``None`` if it is not accepted.

        Without configured keys every non-empty token is accepted, except one made of zeros only.
        """
        if not token:
            return None
        if self.keys is None:
            return "default" if token.strip("0") else None
        return self.keys.get(token)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[S, H]):
    """Route of a vendor with its parser.

    Fields:
        method: ``*`` matches every method that no other row of the same path names.
        path: ``/serving-endpoints/{name}/invocations``; ``{rest:path}`` also spans slashes. Literal paths match
            first, then rows in the order of the table.
        parse: validates a request; returns an inference call, a complete response (model list, health) or a change.
            Only the headers in ``Vendor.relevant_headers`` are visible. Raises :class:`EmulatedError`.
        is_public: no credential is required.
        is_stateful: reads or changes stored documents, which are loaded before ``parse``.
    """

    method: str
    path: str
    parse: Callable[[Request, Service[S, H]], Parsed]
    is_public: bool = False
    is_stateful: bool = False


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class MethodLimit(Generic[S, H]):
    """Methods that the HTTP parser of a vendor's server accepts, and its response to any other.

    ``parse`` returns the response, which precedes credentials and routes.
    """

    methods: frozenset[str]
    parse: Callable[[Request, Service[S, H]], Parsed]


@fast_dataclass(frozen=True, slots=True, eq=False)
class Plane(Generic[S, H]):
    """Endpoints of a vendor that have a listener of their own; port 0 takes a free port."""

    port: int
    endpoints: tuple[Endpoint[S, H], ...]


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vendor(Generic[S, H]):
    """Definition of an emulated vendor.

    Fields:
        catalogue: returns the deployments that are served before a scenario adds its own.
        profile_deployment: returns the request-independent configuration of a deployment; called once for each.
        late_modules: names of modules that only some requests need; the server imports them once it listens.
        extra_listeners: returns endpoints with a port of their own, by name; the vendor's main port excludes them.
        check_traits: returns what is wrong with the traits of a scenario's deployment, in a sentence, or ``""``.
        authenticate: returns the principal or raises ``UNAUTHENTICATED``.
        has_lasting_credential: returns whether requests with the same head all have the same principal.
        render_error: renders every refusal, the vendor's own and injected ones; total over ``ErrorKind``.
            An unknown path is ``NOT_FOUND`` with ``details["path"]``; a known path with a wrong method is a
            :class:`MethodNotAllowedError`.
        render_late_error: renders a failure within a stream that has begun, framing included; ``details`` of the error
            may have ``events``, the number of events before it.
        fields: location of text, usage and ids in JSON responses.
        body_limit: maximum bytes of a request body; more is ``PAYLOAD_TOO_LARGE`` with ``details["limit"]``.
        date: the vendor sends a ``Date`` header.
        lower_case: framing headers (``content-length``, …) are written in lower case.
        announces_close: returns whether responses have ``Connection: close`` where the client asked to close.
        phrases: reason phrases of statuses that differ from the usual ones.
        literal_paths: a path with percent-encoded characters is none of the vendor's.
        method_limit: methods that the server's HTTP parser accepts; ``None``: any token, as its routes decide.
        relevant_headers: request headers that parsing depends on; all others are hidden from parsers.
        is_stateful: every endpoint is stateful.
        provider: returns the OpenTelemetry provider name of a path, if it differs from ``name``.
        chat_path, chat_model: path and deployment of an example request, for people who begin.
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
    announces_close: Callable[[S], bool] = lambda settings: True
    phrases: Mapping[int, str] = field(default_factory=dict)
    literal_paths: bool = False
    method_limit: MethodLimit[S, H] | None = None
    relevant_headers: tuple[str, ...] = ()
    is_stateful: bool = False
    has_lasting_credential: Callable[[Request], bool] = lambda request: False
    late_modules: Sequence[str] = ()
    extra_listeners: Callable[[S], Mapping[str, Plane[S, H]]] = lambda settings: {}
    check_traits: Callable[[Deployment], str] = lambda deployment: ""
    provider: Callable[[str], str] | None = None
    chat_path: str = ""
    chat_model: str = ""

    def choose_chat_model(self, deployments: Mapping[str, Deployment]) -> str:
        """Return the deployment of an example request: the usual one, or the first that chats; empty without one."""
        chats = [name for name, deployment in deployments.items() if deployment.task == "chat"]
        return self.chat_model if self.chat_model in chats else next(iter(chats), "")

    def name_provider(self, path: str) -> str:
        """Return OpenTelemetry's name of the provider for a request path."""
        return self.name if self.provider is None else self.provider(path)


class MethodNotAllowedError(EmulatedError):
    """Error of a path that the vendor serves with other methods.

    Fields:
        rows: the endpoints of these, each with the parameters of its path.
    """

    def __init__(self, path: str, rows: Sequence[tuple[AnyEndpoint, Mapping[str, str]]]) -> None:
        allow = ", ".join(sorted({endpoint.method for endpoint, _ in rows}))
        super().__init__(ErrorKind.METHOD_NOT_ALLOWED, details={"path": path, "allow": allow})
        self.rows = rows


def no_profile(deployment: Deployment, settings: VendorSettings) -> None:
    """Return no profile; for vendors that need only the fields of a deployment."""


AnyVendor = Vendor[Any, Any]  # a table holds vendors with different type arguments
AnyService = Service[Any, Any]
AnyEndpoint = Endpoint[Any, Any]
AnyPlane = Plane[Any, Any]
Vendors = Mapping[str, AnyVendor]
