"""Parse and answer the Gemini API's ``generateContent``, ``streamGenerateContent`` and ``countTokens``.

With it Google's own clients reach the Gemini models of Databricks: ``routes.py`` has the paths,
``protocols/gemini/`` the format.

Source: docs.databricks.com, "Query with the Google Gemini API"; that refusals take Google's form and the framing of
streams are unverified.
"""

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import Object, as_integer, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest
from emulator.protocols.gemini.request import (
    error_parameter,
    find_unsigned,
    get_config,
    includes_thoughts,
    list_rated,
    parse_contents,
    parse_effort,
    parse_format,
    parse_request,
    parse_sampling,
    parse_tool_choice,
    parse_tools,
    validate_config,
)
from emulator.protocols.gemini.response import GeminiOptions, build_count, build_response, stream_answer
from emulator.vendors.databricks.chat.shapes import sign
from emulator.vendors.databricks.gateway_routes import find_native
from emulator.vendors.databricks.headers import JSON_TYPE, answer_headers, answer_json
from emulator.vendors.databricks.profile import DatabricksService, RenderOptions
from emulator.vendors.databricks.request import ParsedRequest
from emulator.vendors.databricks.sampling import count_prompts, limit_output
from emulator.vendors.databricks.settings import DatabricksSettings


@fast_dataclass(frozen=True, slots=True, eq=False)
class GeminiCodec:
    """Codec of Gemini responses.

    Fields:
        served: served entity that answers.
        thoughts: the response includes them.
        rated: categories of harm that it rates.
    """

    settings: DatabricksSettings
    style: RenderOptions
    served: str
    thoughts: bool
    rated: tuple[str, ...]

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_response(plan, self._style(plan, request))
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        style = self._style(plan, request)
        headers = answer_headers(request, self.settings, self.served, stream=True)
        if style.array:
            headers = (JSON_TYPE, *headers[1:])
        return StreamingResponse(stream_answer(plan, style), headers)

    def _style(self, plan: Plan, request: Request) -> GeminiOptions:
        signatures = [sign(plan.key, number) for number in range(len(plan.choices))] if self.style.signed else []
        return GeminiOptions(
            model=self.style.model,
            thoughts=self.thoughts,
            signatures=signatures,
            rated=self.rated,
            array=wants_array(request),
        )


def wants_array(request: Request) -> bool:
    """Return whether a stream is one JSON array, the default without ``alt=sse``."""
    return request.query.get("alt") != "sse"


def parse_generate(request: Request, service: DatabricksService, *, stream: bool = False) -> InferenceCall:
    """Parse ``POST …/gemini/v1beta/models/{name}:generateContent``."""
    parsed = find_native(request, service, "gemini")
    body = parse_request(parsed.body, "GenerateContentRequest")
    config = get_config(body)
    validate_config(config)
    limit = as_integer(config["maxOutputTokens"]) if "maxOutputTokens" in config else None
    _validate_limit(parsed, limit)
    chat_request = _build_prompt(parsed, body)
    counts = count_prompts(parsed, chat_request)
    context = parsed.deployment.context
    if context is not None and counts[0] > context:
        text = f"The input token count ({counts[0]}) exceeds the maximum number of tokens allowed ({context})."
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "contents")
    return InferenceCall(
        deployment=parsed.deployment,
        request=_build_request(parsed, chat_request, body, limit_output(parsed.profile, limit, counts[0])),
        codec=GeminiCodec(
            parsed.settings, parsed.profile.style, parsed.served, includes_thoughts(config), list_rated(body)
        ),
        stream=stream,
        prompt_tokens=counts,
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def count_tokens(request: Request, service: DatabricksService) -> Response:
    """Answer ``POST …/gemini/v1beta/models/{name}:countTokens``: the tokens of contents, or of a whole request."""
    parsed = find_native(request, service, "gemini")
    body = parse_request(parsed.body, "CountTokensRequest")
    inner = body.get("generateContentRequest")
    (tokens,) = count_prompts(parsed, _build_prompt(parsed, inner if isinstance(inner, dict) else body))
    return answer_json(build_count(tokens), request, service.settings)


def _validate_limit(parsed: ParsedRequest, requested: int | None) -> None:
    max_output = parsed.deployment.max_output
    if requested is not None and max_output is not None and requested > max_output:
        text = (
            f"Unable to submit request because it has a maxOutputTokens value of {requested} but the supported range is"
            f" from 1 (inclusive) to {max_output + 1} (exclusive). Update the value and try again."
        )
        raise error_parameter(text, "generation_config.max_output_tokens")


def _build_prompt(parsed: ParsedRequest, body: Object) -> ChatRequest:
    """Return the chat request of the prompt: conversation and tools."""
    unsigned = find_unsigned(body) if parsed.traits.get("thought_signature") else None
    if unsigned is not None:
        text = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
            " correctly, and missing thought_signature may lead to degraded model performance. Additional data,"
            f" function call {unsigned}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for"
            " more details."
        )
        raise error_parameter(text)
    return ChatRequest(messages=parse_contents(body), tools=parse_tools(body))


def _build_request(parsed: ParsedRequest, chat_request: ChatRequest, body: Object, limit: int | None) -> ChatRequest:
    config, choice = get_config(body), parse_tool_choice(body, chat_request.tools)
    kind, schema = parse_format(config)
    allowed = tuple(tool for tool in chat_request.tools if not choice.names or tool.name in choice.names)
    parallel = parsed.settings.parallel_tool_calls or bool(parsed.traits.get("parallel_tool_calls"))
    return ChatRequest(
        messages=chat_request.messages,
        sampling=parse_sampling(config, limit),
        tools=allowed,
        tool_choice=choice.kind,
        tool_name=choice.names[0] if len(choice.names) == 1 and choice.kind == "required" else None,
        parallel=parallel,
        format=kind,
        schema=schema,
        bare=config.get("responseMimeType") == "text/x.enum",
        reasoning=parse_effort(config),
    )


def parse_stream(request: Request, service: DatabricksService) -> InferenceCall:
    """Parse ``POST …/gemini/v1beta/models/{name}:streamGenerateContent``."""
    return parse_generate(request, service, stream=True)


_MODELS = ("/v1/models/{name}", "/v1beta/models/{name}")
GENERATE_PATHS = tuple(f"{model}:generateContent" for model in _MODELS)
"""Paths below the clients' base address."""
STREAM_PATHS = tuple(f"{model}:streamGenerateContent" for model in _MODELS)
COUNT_PATHS = tuple(f"{model}:countTokens" for model in _MODELS)
