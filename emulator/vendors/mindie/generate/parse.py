"""Parse ``POST /``, ``/generate`` and ``/generate_stream`` requests in TGI's form.

Source: MindIE documentation, "text/stream inference", and MindIE-LLM, ``http_wrapper/http_handler.cpp``,
``single_req_tgi_text_infer_interface.cpp`` and ``llm_manager_impl.cpp``.
"""

from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.requests import CompletionRequest, Deployment
from emulator.core.vendor import Tokenizer
from emulator.protocols.tgi import find_served, find_served_deployment, join_prompt, split_prompt
from emulator.vendors.mindie.decoder import PARSE_FAILED, Fields, parse_object, refusal
from emulator.vendors.mindie.generate.fields import NO_ADAPTER, Parameters, build_sampling, parse_parameters
from emulator.vendors.mindie.generate.inputs import Inputs, parse_inputs
from emulator.vendors.mindie.generate.render import GenerateCodec
from emulator.vendors.mindie.postprocess import Stops
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import Lengths, measure_lengths, parse_body, validate_headers, validate_tokens
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.server_state import find_profile, list_served, validate_serving
from emulator.vendors.mindie.settings import MindieSettings

MEDIA_TOKENS = (151652, *(151655,) * 16, 151653)  # a start, sixteen placeholders, an end
_TOO_LONG = "Inputs length must be in (0, {most}], but got {length}"
MISSING_INPUTS = "Request should contain 'inputs' and the type should be string."

# Source: MindIE documentation, "text/stream inference", the samples of both modes.
_SAMPLE_PROMPT = "My name is Olivier and I"
_SAMPLES = {
    False: (
        "'m a software engineer from France. I love to build things, especially web applications and mobile apps.",
        789070824,
    ),
    True: ("'m a French guy who is looking for a place to live in. I'm a", 218884523),
}
_SAMPLE_TOKENS = 20


def parse_root(request: Request, service: MindieService) -> InferenceCall:
    """Parse ``POST /``; the body alone decides whether the response streams."""
    validate_headers(request, service)
    fields = parse_body(request, service.settings, PARSE_FAILED)
    stream = fields.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise refusal("Stream must be boolean type.", "stream")
    return parse_tgi(request, service, fields, stream=bool(stream), array=True)


def parse_generate_stream(request: Request, service: MindieService) -> InferenceCall:
    """Parse ``POST /generate_stream``, which always streams."""
    validate_headers(request, service)
    return parse_tgi(request, service, parse_body(request, service.settings), stream=True, array=False)


def parse_tgi(request: Request, service: MindieService, fields: Fields, *, stream: bool, array: bool) -> InferenceCall:
    """Parse a request in TGI's form; ``array``: a non-streaming response is an array of one object."""
    settings = service.settings
    deployment = validate_serving(request, find_served(service))
    inputs = _parse_inputs(fields, settings)
    (count,) = service.count_prompt(CompletionRequest(prompts=(inputs.prompt,), media=inputs.media), deployment)
    validate_tokens(count)
    values = parse_object(fields, "parameters")
    parameters = parse_parameters(values, stream=stream, disaggregated=settings.disaggregated)
    if parameters.adapter_id != NO_ADAPTER:
        deployment = find_served_deployment(tuple(list_served(request, service).values()), parameters.adapter_id)
    asked = parameters.max_new_tokens or find_profile(service, deployment).default_answer
    lengths = measure_lengths(service, deployment, min(count, parameters.truncate or count), asked)
    call = _build_call(service, deployment, inputs, parameters, count, lengths, stream=stream, array=array)
    return replace(call, cancel_ids=parse_id(request).names)


def _parse_inputs(fields: Fields, settings: MindieSettings) -> Inputs:
    value = fields.get("inputs")
    if value is None:
        raise refusal(MISSING_INPUTS, "inputs")
    return parse_inputs(value, settings.max_input_chars, _TOO_LONG)


def _build_call(
    service: MindieService,
    deployment: Deployment,
    inputs: Inputs,
    parameters: Parameters,
    count: int,
    lengths: Lengths,
    *,
    stream: bool,
    array: bool,
) -> InferenceCall:
    settings = service.settings
    tokenizer = service.tokenizer(deployment)
    prompt, ids = _truncate(inputs, parameters, tokenizer, count, lengths.prompt, settings)
    known, seed = None, parameters.seed
    if seed is None and prompt == _SAMPLE_PROMPT and lengths.answer <= _SAMPLE_TOKENS and not inputs.media:
        known, seed = _SAMPLES[tokenizer.bos is not None]
    sampling = build_sampling(parameters, lengths.answer, tokenizer, logprobs=settings.token_fields == "filled")
    codec = GenerateCodec(
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        details=parameters.details or (parameters.decoder_input_details and not stream),
        prefill=ids,
        echo=inputs.echo if parameters.return_full_text else None,
        seed=seed,
        stops=Stops(texts=parameters.stop),
        tokenizer=tokenizer,
        settings=settings,
        array=array,
    )
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(prompts=(prompt,), sampling=sampling, media=inputs.media, known=known),
        codec=codec,
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
    )


def _truncate(
    inputs: Inputs, parameters: Parameters, tokenizer: Tokenizer, count: int, limit: int, settings: MindieSettings
) -> tuple[str, tuple[int, ...]]:
    """Return the prompt the model reads, and its token ids if the response shows them.

    ``truncate`` keeps the last tokens; the server may cut on either side to ``limit``. Media follow the text.
    """
    if limit == count and not parameters.decoder_input_details:
        return inputs.prompt, ()
    media = [min(token, tokenizer.vocabulary_size - 1) for token in MEDIA_TOKENS * inputs.media]
    if limit == count:
        begin = () if tokenizer.bos is None else (tokenizer.bos,)
        return inputs.prompt, (*begin, *tokenizer.encode(inputs.prompt), *media)
    rows = [*split_prompt(tokenizer, inputs.prompt), *((token, "") for token in media)]
    if parameters.truncate is not None:
        rows = rows[-parameters.truncate :]
    rows = rows[:limit] if settings.truncation == -1 else rows[-limit:]
    prompt, ids = join_prompt(rows)
    return prompt, ids if parameters.decoder_input_details else ()
