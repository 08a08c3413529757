"""``POST /``, ``/generate`` and ``/generate_stream`` in TGI's form: from the wire to a call.

Source: MindIE documentation, "text/stream inference", and MindIE-LLM, ``http_wrapper/http_handler.cpp``,
``single_req_tgi_text_infer_interface.cpp`` and ``llm_manager_impl.cpp``.
"""

from emulator.core.call import CompletionAsk, Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.core.tokenizer import Tokenizer
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.tgi import check_ready, find_served, join_prompt, serves, split_prompt
from emulator.vendors.mindie.decoder import BROKEN, parse_body, read_object, refuse, refuse_format
from emulator.vendors.mindie.generate.codec import GENERATE, GENERATE_ARRAY, Generation
from emulator.vendors.mindie.generate.fields import NO_ADAPTER, NOTHING_SET, Parameters, read_parameters, shape_sampling
from emulator.vendors.mindie.generate.inputs import Inputs, check_length, fetch_media, read_inputs
from emulator.vendors.mindie.headers import check_headers
from emulator.vendors.mindie.settings import MindieSettings

MAX_PROMPT_TOKENS = 1048576
DEFAULT_NEW_TOKENS = 20
MEDIA_TOKENS = (151652, *(151655,) * 16, 151653)  # a start, sixteen placeholders, an end
BROKEN_REQUEST = "Failed to parse request context to json"
MISSING = "Request should contain 'inputs' and the type should be string."

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


@record(frozen=True, slots=True)
class Room:
    """How many tokens a prompt has, and the most its answer may have."""

    prompt: int
    answer: int


def parse_root(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    """``POST /``: whether the answer streams is said in the body alone."""
    check_headers(request, service)
    body = parse_body(request, service.settings, BROKEN)
    stream = body.get("stream") if isinstance(body, dict) else None
    if stream is not None and not isinstance(stream, bool):
        raise refuse("Stream must be boolean type.", "stream")
    return parse_tgi(request, service, body, stream=bool(stream), array=True)


def parse_generate_stream(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    """``POST /generate_stream``: always streams."""
    check_headers(request, service)
    body = parse_body(request, service.settings, BROKEN_REQUEST)
    return parse_tgi(request, service, body, stream=True, array=False)


def parse_tgi(
    request: WireRequest, service: Service[MindieSettings, None], body: JSON, *, stream: bool, array: bool
) -> Call:
    """A request in TGI's form; ``array``: a whole answer is an array of one."""
    settings = service.settings
    deployment = check_ready(find_served(service))
    value = body.get("inputs") if isinstance(body, dict) else None
    if settings.coordinator and not isinstance(value, str):
        raise refuse_format()
    if value is None:
        raise refuse(MISSING, "inputs")
    inputs = read_inputs(value)
    check_length(inputs, value, settings.max_input_chars)
    if isinstance(value, list):
        fetch_media(value)
    (count,) = service.count_prompt(CompletionAsk(prompts=(inputs.prompt,), media=inputs.media), deployment)
    check_tokens(count)
    given = body.get("parameters")
    parameters = NOTHING_SET
    if given is not None:
        fields = read_object(body, "parameters")
        parameters = read_parameters(fields, stream=stream, disaggregated=settings.disaggregated)
    if parameters.adapter_id != NO_ADAPTER:
        deployment = serves(tuple(service.deployments.values()), parameters.adapter_id)
    asked = parameters.max_new_tokens or default_length(deployment)
    room = measure_room(settings, deployment, min(count, parameters.truncate or count), asked)
    return _shape(request, service, inputs, parameters, deployment, count, room, stream=stream, array=array)


def _shape(
    request: WireRequest,
    service: Service[MindieSettings, None],
    inputs: Inputs,
    parameters: Parameters,
    deployment: Deployment,
    count: int,
    room: Room,
    *,
    stream: bool,
    array: bool,
) -> Call:
    settings = service.settings
    tokenizer = service.tokenizer(deployment)
    prompt = inputs.prompt
    ids: tuple[int, ...] = ()
    if room.prompt < count or parameters.decoder_input_details:
        prompt, ids = _cut(inputs, parameters, tokenizer, count, room, settings)
    logprobs = settings.token_fields == "filled"
    sampling = shape_sampling(
        parameters, max_tokens=room.answer, vocabulary=tokenizer.vocabulary_size, logprobs=logprobs
    )
    known, seed = None, parameters.seed
    if seed is None and prompt == _SAMPLE_PROMPT and room.answer <= _SAMPLE_TOKENS and not inputs.media:
        known, seed = _SAMPLES[tokenizer.bos is not None]
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=(prompt,), sampling=sampling, media=inputs.media, known=known),
        codec=GENERATE_ARRAY if array else GENERATE,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Generation(
            limit=room.answer,
            details=parameters.details or (parameters.decoder_input_details and not stream),
            prefill=ids,
            echo=inputs.echo if parameters.return_full_text else None,
            seed=seed,
        ),
        repeatable=True,
    )


def _cut(
    inputs: Inputs, parameters: Parameters, tokenizer: Tokenizer, count: int, room: Room, settings: MindieSettings
) -> tuple[str, tuple[int, ...]]:
    """The prompt the model reads, and its ids where they are shown.

    ``truncate`` keeps the last tokens; the server itself may cut on either side. Media stand after the text.
    """
    media = [min(token, tokenizer.vocabulary_size - 1) for token in MEDIA_TOKENS * inputs.media]
    if room.prompt == count:
        begin = () if tokenizer.bos is None else (tokenizer.bos,)
        return inputs.prompt, (*begin, *tokenizer.encode(inputs.prompt), *media)
    rows = [*split_prompt(tokenizer, inputs.prompt), *((token, "") for token in media)]
    if parameters.truncate is not None:
        rows = rows[-parameters.truncate :]
    rows = rows[: room.prompt] if settings.truncation == -1 else rows[-room.prompt :]
    prompt, ids = join_prompt(rows)
    return prompt, ids if parameters.decoder_input_details else ()


def check_tokens(count: int) -> None:
    """A prompt has 1 to 1048576 tokens."""
    if not 0 < count <= MAX_PROMPT_TOKENS:
        raise refuse(f"Inputs token length must be in (0, {MAX_PROMPT_TOKENS}], but got {count}", "inputs")


def default_length(deployment: Deployment) -> int:
    """``max_new_tokens`` of a request that sets none."""
    return deployment.default_max_tokens or DEFAULT_NEW_TOKENS


def measure_room(settings: MindieSettings, deployment: Deployment, count: int, asked: int) -> Room:
    """Refuse a prompt the engine has no room for, and say how long the answer may get.

    Where prefill and decode are apart, an answer bounded by ``maxIterTimes`` has the prefill's token on top.
    """
    sequence = deployment.context or settings.max_seq_len
    iterations = deployment.max_output or settings.max_iter_times
    positions = settings.max_position_embeddings
    most = min(settings.max_input_token_len if sequence == settings.max_seq_len else sequence - 1, sequence - 1)
    if settings.truncation:
        count = min(count, most if positions is None else min(most, positions))
    if positions is not None and count > positions:
        raise _refuse_length(f"maxPositionEmbeddings {positions}", count)
    if count > most:
        raise _refuse_length(str(most), count)
    if settings.disaggregated and asked > iterations:
        iterations += 1
    bounds = [asked, iterations, sequence - count]
    if positions is not None:
        bounds.append(positions - count)
    return Room(count, max(1, min(bounds)))


def _refuse_length(bound: str, count: int) -> EmulatedError:
    text = (
        "Failed to enqueue inferRequest. This model's maximum input ids length "
        f"cannot be greater than {bound},the input ids length is {count}"
    )
    return EmulatedError(ErrorKind.CONTEXT_LENGTH, message=text, status=424)
