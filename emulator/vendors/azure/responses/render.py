"""Render a planned answer as an object or stream of the Responses API, and build the document that stores it."""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Plan
from emulator.protocols.choice_events import last_token_due
from emulator.protocols.openai.messages import count_cached_blocks
from emulator.protocols.openai.responses import ResponseOptions, build_pending, build_response, stream_response
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import DeploymentProfile
from emulator.vendors.azure.responses.input import identify
from emulator.vendors.azure.responses.previous_response import PreviousItems
from emulator.vendors.azure.responses.replay import record_stream


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResponsesCodec:
    """Codec of response objects.

    Fields:
        items: items of the request itself.
        before: items of the conversation that it continues.
        previous: the response or conversation that it continues.
        hidden: the request has ``store: false``; if stored at all, the response is for its conversation alone.
        background: the response is generated after the request has been answered.
        streamed: the stream of the response can be replayed.
    """

    profile: DeploymentProfile
    options: ResponseOptions
    items: tuple[Object, ...]
    before: tuple[Object, ...]
    previous: PreviousItems
    hidden: bool
    background: bool
    streamed: bool

    def render(self, plan: Plan, request: Request) -> Response:
        body = self.queue(plan) if self.background else self.shape(self._count(plan, request))
        return Response(200, dump_json(body), answer_headers(plan, request, self.profile))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_response(self._count(plan, request), self.options)
        return StreamingResponse(events, answer_headers(plan, request, self.profile, stream=True))

    def _count(self, plan: Plan, request: Request) -> Plan:
        return count_cached_blocks(plan, request.attempt) if self.profile.caches else plan

    def shape(self, plan: Plan) -> Object:
        """Build the whole response."""
        return build_response(plan, self.options)

    def queue(self, plan: Plan) -> Object:
        """Return the response before generation starts."""
        return build_pending(plan, self.options, "queued")

    def keep(self, plan: Plan, request: Request) -> tuple[str, JSON]:
        """Return id and document to store: the response, its input, and when its generation ends (Unix seconds)."""
        plan = self._count(plan, request)
        response = self.shape(plan)
        items = identify(self.items, plan.key)
        document: Object = {
            "response": response,
            "input": items,
            "before": [] if self.previous.conversation else list(self.before),
            "background": self.background,
            "ends": plan.created + max(plan.due, last_token_due(plan)),
            "principal": request.principal,
        }
        if self.previous.conversation is not None:
            document |= {"joined": self.previous.conversation, "at": self.previous.at, "hidden": self.hidden}
        if self.background and self.streamed:
            document["stream"] = record_stream(plan, self.options)
        return str(response["id"]), document
