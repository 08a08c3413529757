"""Parse ``POST /``, ``/generate`` and ``/generate_stream`` requests.

Source: text-generation-inference, ``router/src/server.rs``.
"""

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.requests import CompletionRequest
from emulator.protocols.tgi import find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.generate.fields import COMPAT, OLD_COMPAT, OLD_PLAIN, PLAIN, GenerateRequest
from emulator.vendors.tgi.generate.render import GenerateCodec
from emulator.vendors.tgi.generate.shapes import GenerateOptions
from emulator.vendors.tgi.request import ParsedRequest, parse_request, validate_started
from emulator.vendors.tgi.settings import TgiService


def parse_root(request: Request, service: TgiService) -> InferenceCall:
    """Parse ``POST /``: the response streams if the body requests it, else it is an array of one object."""
    return parse_compat(service, _read(request, service, COMPAT, OLD_COMPAT))


def parse_compat(service: TgiService, body: GenerateRequest) -> InferenceCall:
    """Build the call of a parsed :data:`COMPAT` request."""
    return _build_call(service, body, stream=body.stream, array=True, echoes=service.settings.echoes)


def parse_generate(request: Request, service: TgiService) -> InferenceCall:
    return _build_call(service, _parse_plain(request, service), stream=False)


def parse_generate_stream(request: Request, service: TgiService) -> InferenceCall:
    return _build_call(service, _parse_plain(request, service), stream=True)


def _parse_plain(request: Request, service: TgiService) -> GenerateRequest:
    return _read(request, service, PLAIN, OLD_PLAIN)


def _read(
    request: Request, service: TgiService, new: serde.Type[GenerateRequest], old: serde.Type[GenerateRequest]
) -> GenerateRequest:
    """Deserialize the body as the release does."""
    return serde.read(request, old, old=True) if service.settings.old else serde.read(request, new)


def _build_call(
    service: TgiService, body: GenerateRequest, *, stream: bool, array: bool = False, echoes: bool = False
) -> InferenceCall:
    """Build the call; ``echoes``: default of ``return_full_text``."""
    parameters, inputs = body.parameters, body.inputs
    deployment = validate_started(
        find_served_deployment(tuple(service.deployments.values()), parameters.adapter_id or "")
    )
    detailed = parameters.details or parameters.decoder_input_details
    logprobs = stream or detailed or (parameters.best_of or 1) > 1
    parsed = parse_request(service, deployment, inputs, parameters, stream=stream, logprobs=logprobs)
    echo = echoes if parameters.return_full_text is None else parameters.return_full_text
    options = GenerateOptions(
        settings=service.settings,
        tokenizer=service.tokenizer(deployment),
        prompt_tokens=parsed.prompt.count,
        limit=parsed.limit,
        array=array,
        details=parameters.details if stream else detailed,
        prefill=parsed.prompt.ids,
        echo=inputs if echo else "",
        characters=len(inputs),
        seed=parameters.seed,
        seeded=parsed.sampled,
        top=parameters.top_n_tokens or 0,
    )
    return InferenceCall(
        deployment=deployment,
        request=_build_request(parsed),
        codec=GenerateCodec(options),
        stream=stream,
        prompt_tokens=(parsed.prompt.count,),
        repeatable=True,
    )


def _build_request(parsed: ParsedRequest) -> CompletionRequest:
    grammar = parsed.grammar
    return CompletionRequest(
        prompts=(parsed.prompt.text,),
        media=parsed.prompt.media,
        sampling=parsed.sampling,
        schema=grammar.schema if grammar else None,
        bare=grammar.bare if grammar else False,
    )
