"""Parse ``POST /vertex`` of Vertex AI, several requests in one, and render their texts.

Source: text-generation-inference, ``router/src/vertex.rs``.
"""

from collections.abc import Sequence
from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest, Deployment, InferenceRequest
from emulator.core.vendor import WholeCodec
from emulator.protocols.tgi import find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.calls import NO_CALL, is_call, list_call_tokens
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST, ChatBody
from emulator.vendors.tgi.chat.parse import Generation, build_request, constrain, count_prompt
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.generate.fields import PARAMETERS, Parameters
from emulator.vendors.tgi.headers import JSON_HEADERS
from emulator.vendors.tgi.request import ParsedRequest, Prompt, parse_request, validate_started
from emulator.vendors.tgi.settings import TgiService


@fast_dataclass(frozen=True, slots=True)
class VertexInstance:
    """``GenerateVertexInstance``; of the parameters only length and seed take effect."""

    inputs: str
    parameters: Parameters | None = None


@fast_dataclass(frozen=True, slots=True)
class VertexRequest:
    """``VertexRequest``."""

    instances: Sequence[VertexInstance | ChatBody]


_INSTANCE = serde.build(
    VertexInstance,
    serde.struct(
        "GenerateVertexInstance",
        (Field("inputs", serde.string, required=True), Field("parameters", serde.option(PARAMETERS), listed=True)),
        flat=True,
    ),
)
_ANY_INSTANCE: serde.Type[VertexInstance | ChatBody] = serde.untagged("VertexInstance", _INSTANCE, CHAT_REQUEST)
VERTEX_REQUEST = serde.build(
    VertexRequest,
    serde.struct("VertexRequest", (Field("instances", serde.sequence(_ANY_INSTANCE), required=True),), flat=True),
)


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Instance:
    """Validated instance; ``prompt``: its text; ``may_skip``: the model may call no tool."""

    request: InferenceRequest
    prompt: str
    parsed: ParsedRequest
    may_skip: bool = False


def parse_vertex(request: Request, service: TgiService) -> InferenceCall:
    """Build one call for all instances; of several, each counts as one prompt, a conversation as its text."""
    instances = serde.read(request, VERTEX_REQUEST).instances
    if not instances:
        text = "Input validation error"
        raise EmulatedError(ErrorKind.INVALID_PARAMETER, message=text, details={"error_type": text, "reason": text})
    deployment = validate_started(find_served_deployment(tuple(service.deployments.values())))
    # The router converts all instances before it runs any.
    ready = [build_request(one, deployment, service) if isinstance(one, ChatBody) else one for one in instances]
    parts = [_validate_instance(one, service, deployment) for one in ready]
    limits = tuple([part.parsed.limit for part in parts])
    generation = parts[0].request
    if len(parts) > 1:
        sampling = replace(parts[0].parsed.sampling, max_tokens=max(limits))
        generation = CompletionRequest(prompts=tuple([part.prompt for part in parts]), sampling=sampling, limits=limits)
    return InferenceCall(
        deployment=deployment,
        request=generation,
        codec=VertexCodec(tuple([part.may_skip for part in parts])),
        prompt_tokens=tuple([part.parsed.prompt.count for part in parts]),
        repeatable=True,
    )


def _validate_instance(instance: VertexInstance | Generation, service: TgiService, deployment: Deployment) -> _Instance:
    """Validate an instance or a converted chat; each error of its generation has the same text.

    Raises:
        EmulatedError: 500 for any error of the router's checks.
    """
    if isinstance(instance, VertexInstance):
        values = instance.parameters or Parameters()
        parameters = Parameters(
            do_sample=True,
            max_new_tokens=values.max_new_tokens,
            seed=values.seed,
            details=True,
            decoder_input_details=True,
        )
        parsed = _validate_parameters(service, deployment, instance.inputs, parameters)
        request = CompletionRequest(prompts=(parsed.prompt.text,), sampling=parsed.sampling)
        return _Instance(request, parsed.prompt.text, parsed)
    chat = instance.chat
    prompt = Prompt(text="", count=count_prompt(instance, deployment, service)[0])
    parsed = _validate_parameters(service, deployment, prompt, instance.parameters)
    text = "\n".join([message.text for message in chat.messages])
    return _Instance(constrain(chat, parsed), text, parsed, chat.tool_choice == "auto")


def _validate_parameters(
    service: TgiService, deployment: Deployment, inputs: str | Prompt, parameters: Parameters
) -> ParsedRequest:
    try:
        return parse_request(service, deployment, inputs, parameters, stream=False, logprobs=False)
    except EmulatedError as error:
        raise EmulatedError(error.kind, param=error.param) from None  # its text is that of any error here


@fast_dataclass(frozen=True, slots=True)
class VertexCodec(WholeCodec):
    """Codec of the texts of all instances; ``no_calls``: which of them may call no tool."""

    no_calls: tuple[bool, ...]

    def render(self, plan: Plan, request: Request) -> Response:
        texts = [self._read_text(choice) for choice in plan.choices]
        return Response(200, dump_json({"predictions": texts}), JSON_HEADERS)

    def _read_text(self, choice: Choice) -> str:
        """Return what the model generated; a call is the JSON that the router would read."""
        if is_call(choice):
            return "".join(list_call_tokens(choice, ended=False))
        return NO_CALL if self.no_calls[choice.prompt] else choice.text()
