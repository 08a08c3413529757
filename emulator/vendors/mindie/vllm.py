"""Parse ``POST /generate`` in TGI's or vLLM's form, and render responses in vLLM's.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp``, ``single_req_vllm_infer_interface.cpp`` and
``utils/infer_param.cpp``.
"""

from collections.abc import Iterator
from itertools import zip_longest

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest
from emulator.core.vendor import Tokenizer
from emulator.protocols.choice_events import PLAIN
from emulator.protocols.tgi import find_served_deployment
from emulator.vendors.mindie.decoder import Fields, count_units, parse_boolean, refusal
from emulator.vendors.mindie.generate.inputs import TOO_LONG, parse_inputs
from emulator.vendors.mindie.generate.parse import parse_tgi
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import Stops, clean, cut_at_id, time_tokens
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import measure_lengths, parse_body, validate_headers
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.sampling import SamplingFields, parse_max_tokens, parse_sampling
from emulator.vendors.mindie.server_state import find_profile, list_served, validate_serving

MAX_MODEL_LENGTH = 256
NEITHER_FORM = (
    '{"Error": "`inputs` or `prompt` must be necessary and data type must be string. '
    'Additionally, the request body must be valid json", "error_type": "validation"}'
)


def parse_generate(request: Request, service: MindieService) -> InferenceCall:
    """Parse vLLM's form if there is a ``prompt``, else TGI's, which never streams on this route."""
    validate_headers(request, service)
    fields = parse_body(request, service.settings, NEITHER_FORM)
    if fields.get("prompt") is not None:
        return _parse_vllm(request, service, fields)
    if fields.get("inputs") is not None:
        return parse_tgi(request, service, fields, stream=False, array=False)
    raise refusal(NEITHER_FORM)


def _parse_vllm(request: Request, service: MindieService, fields: Fields) -> InferenceCall:
    settings = service.settings
    deployments = tuple(list_served(request, service).values())
    validate_serving(request, find_served_deployment(deployments))
    inputs = parse_inputs(fields["prompt"], settings.max_input_chars, "Prompt" + TOO_LONG, "prompt")
    (count,) = service.count_prompt(
        CompletionRequest(prompts=(inputs.prompt,), media=inputs.media), find_served_deployment(deployments)
    )
    if not count:
        text = "Messages token length must be in (0, 1048576], but got 0"
        raise refusal(f"{text}. This could be caused by invalid input format or empty content.", "prompt")
    sampling = parse_sampling(fields, settings, beams=False)
    deployment = find_served_deployment(deployments, _parse_model(fields))
    asked = parse_max_tokens(fields) or find_profile(service, deployment).answer
    stream = parse_boolean(fields, "stream") or False
    _validate_choices(sampling)
    if settings.disaggregated:
        _validate_no_stops(sampling.stops)
    lengths = measure_lengths(service, deployment, count, asked)
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(
            prompts=(inputs.prompt,), sampling=sampling.build_sampling(lengths.answer), media=inputs.media
        ),
        codec=VllmCodec(prompt=inputs.first_text, stops=sampling.stops, tokenizer=service.tokenizer(deployment)),
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=parse_id(request).names,
    )


def _validate_no_stops(stops: Stops) -> None:
    if stops.texts or stops.ids:
        field = "stop" if stops.texts else "stop_token_ids"
        raise refusal(f"{field} is not supported in dmi mode", field)


def _validate_choices(sampling: SamplingFields) -> None:
    """Raise if several choices lack sampling, or more are requested than generated."""
    best_of, n = sampling.best_of, sampling.n
    if best_of is not None and n is not None and best_of < n:
        text = f"best_of should greater than or equal to n, but best_of is {best_of}, n is {n}."
        raise refusal(text, "best_of")
    if sampling.choices > 1 and not sampling.temperature:
        text = "Best_of/N can not greater than 1 when temperature is 0 or not set, but "
        raise refusal(f"{text}best_of is {best_of}, n is {n}.", "best_of")


def _parse_model(fields: Fields) -> str:
    """Parse ``model``, the name of an adapter; empty if absent."""
    value = fields.get("model")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusal("Model must be string type.", "model")
    length = count_units(value)
    if not 1 <= length <= MAX_MODEL_LENGTH:
        text = f"Input validation error: length of `model` must be in [1, {MAX_MODEL_LENGTH}], but got {length}"
        raise refusal(text, "model")
    return value


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class VllmCodec:
    """Codec of vLLM's form: prompt, space and response; a stream has the new text alone, ended by a NUL."""

    prompt: str
    stops: Stops
    tokenizer: Tokenizer

    def render(self, plan: Plan, request: Request) -> Response:
        texts = [clean(f"{self.prompt} {choice.text()}") for choice in self.cut(plan)]
        return Response(200, dump_json({"text": texts}), closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(_stream(self, plan), stream_headers(plan.key))

    def cut(self, plan: Plan) -> list[Choice]:
        return [cut_at_id(choice, self.stops) for choice in plan.choices]


def _stream(codec: VllmCodec, plan: Plan) -> Iterator[Event]:
    """Yield one object per decoding round; a finished choice is ``""`` in later rounds."""
    choices = codec.cut(plan)
    if not all(choice.tokens for choice in choices):
        return
    times = [time_tokens(choice, codec.stops, codec.tokenizer) for choice in choices]
    texts = [map(clean, choice.tokens[: len(due)]) for choice, due in zip(choices, times, strict=True)]
    tokens = 0
    for due, round_texts in zip(zip_longest(*times, fillvalue=0.0), zip_longest(*texts), strict=True):
        tokens += len(round_texts) - round_texts.count(None)
        yield max(due), dump_json({"text": [text or "" for text in round_texts]}) + b"\0", tokens, PLAIN
