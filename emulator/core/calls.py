"""What a vendor's parser returns for a request: an inference call, a change of stored documents, or a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.quota import Quota
from emulator.core.requests import CompletionRequest, Deployment, EmbeddingRequest, InferenceRequest


@fast_dataclass(frozen=True, slots=True, eq=False)
class InferenceCall:
    """Accepted inference request with its deployment and the codec that renders the response.

    Fields:
        codec: built for this call; holds the parsed fields that rendering needs.
        prompt_tokens: per prompt or input; one number for a chat.
        repeatable: parsing depends only on method, path, query, body, principal and ``Vendor.relevant_headers``,
            so the call may be cached for equal requests.
        quotas: charged in addition to the scenario's limits.
        served: name of the model that answers, if several are behind the deployment.
        options: equal for calls that differ only in plain messages and in what follows from them; ``None``: unknown.
        delay: seconds added to the scenario's latency before the first byte is due.
        fallback: returns the call to make instead if a rule refuses this one for lack of capacity.
        store_result: returns key and document to store once the plan is decided.
        at_once: respond before generation ends, as for a background response that is stored.
        cancel_ids: returns the ids under which the running response can be cancelled, from its key.
        is_cpu_heavy: the response is large regardless of the request's size, so it is rendered in the worker thread.
        is_stopped: the call was cancelled before generation; the response has no text.
    """

    deployment: Deployment
    request: InferenceRequest
    codec: Codec
    stream: bool = False
    prompt_tokens: tuple[int, ...] = (0,)
    repeatable: bool = False
    quotas: tuple[Quota, ...] = ()
    served: str = ""
    options: Hashable | None = None
    delay: float = 0.0
    fallback: Callable[[], InferenceCall] | None = None
    store_result: Callable[[Plan, Request], tuple[str, JSON]] | None = None
    at_once: bool = False
    cancel_ids: Callable[[bytes], Collection[str]] | None = None
    is_cpu_heavy: bool = False
    is_stopped: bool = False

    @property
    def variants(self) -> int:
        """Number of answers to each prompt."""
        return 1 if isinstance(self.request, EmbeddingRequest) else self.request.sampling.n

    @property
    def choices(self) -> int:
        """Number of answers that the call generates."""
        request = self.request
        return self.variants * (len(request.prompts) if isinstance(request, CompletionRequest) else 1)


@fast_dataclass(frozen=True, slots=True, eq=False)
class Write:
    """Response of a :class:`Change` with the document to store under ``key``; ``None`` deletes the document.

    Fields:
        dropped: keys of further documents to delete, which nothing finds any more.
    """

    response: Response
    key: str
    document: JSON
    dropped: tuple[str, ...] = ()


@fast_dataclass(frozen=True, slots=True, eq=False)
class InnerRequest:
    """Request that is answered as part of another one, by the same rules, limits and faults."""

    method: str
    path: str
    body: bytes


Answers = Sequence[tuple[int, bytes]]


@fast_dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Accepted request that changes a vendor's stored documents.

    Fields:
        inner: requests to answer first; ``make_with`` returns the change from status and body of each.
        make: returns the write, or a response if nothing is written, from the session's documents; called again if
            another request changed a document in between. Raises :class:`EmulatedError`.
        then: applies the change to a session's running calls; awaited before the response is sent.
    """

    make: Callable[[Mapping[str, JSON]], Write | Response]
    then: Callable[[str], Awaitable[None]] | None = None
    inner: tuple[InnerRequest, ...] = ()
    make_with: Callable[[Answers], Change] | None = None


class Codec(Protocol):
    """Renderer of a call's plan in the vendor's wire format; errors are rendered by ``Vendor.render_error``.

    ``request`` is the request being answered. A codec serves equal requests, so it may be built for an earlier one.
    """

    def render(self, plan: Plan, request: Request) -> Response:
        """Return the complete response."""

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        """Return the response as a stream; events are rendered lazily, as thousands of streams run concurrently."""


Parsed = InferenceCall | Response | StreamingResponse | Change
