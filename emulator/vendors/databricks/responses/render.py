"""Codec of Databricks' Responses API: response objects, whole or as a stream, in OpenAI's form, as Azure has it.

``parse.py`` gives each call its codec; ``protocols/openai/responses.py`` has the form.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.protocols.openai.responses import ResponseOptions, build_response, stream_response
from emulator.vendors.databricks.chat.shapes import count_cached
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import RenderOptions
from emulator.vendors.databricks.settings import DatabricksSettings


@fast_dataclass(frozen=True, slots=True, eq=False)
class ResponsesCodec:
    """Codec that renders the plan of a chat as a response object; ``served``: the served entity that answers."""

    settings: DatabricksSettings
    options: ResponseOptions
    served: str
    style: RenderOptions

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_response(count_cached(plan, self.style, request.attempt, marked=False), self.options)
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_response(count_cached(plan, self.style, request.attempt, marked=False), self.options)
        return StreamingResponse(events, answer_headers(request, self.settings, self.served, stream=True))
