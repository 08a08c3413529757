"""Parse ``POST /v1/completions`` requests and render their responses.

Source: MindIE-LLM, ``single_req_vllm_openai_completions_infer_interface.cpp``.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, count, islice, repeat

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Logprob, Plan
from emulator.core.requests import ANY_OBJECT, CompletionRequest
from emulator.encoding import sse
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import PLAIN, interleave, last_due
from emulator.vendors.mindie.chat.shapes import OpenAIAnswer
from emulator.vendors.mindie.decoder import count_units, is_integer, refusal
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import (
    ENDED,
    clean,
    cut_at_id,
    quote_clean,
    quote_so_far,
    quote_token,
    time_tokens,
)
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import (
    MAX_PROMPT_TOKENS,
    measure_lengths,
    parse_body,
    parse_request,
    validate_headers,
    validate_ids,
)
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.sampling import parse_model
from emulator.vendors.mindie.server_state import list_served, validate_serving

_UNKNOWN = "Not found given model, please check modelName in config file."


def parse_completions(request: Request, service: MindieService) -> InferenceCall:
    validate_headers(request, service)
    settings = service.settings
    fields = parse_body(request, settings)
    served = list_served(request, service)
    model = parse_model(fields, served, _UNKNOWN)
    deployment = validate_serving(request, served[model])
    tokenizer = service.tokenizer(deployment)
    prompt = _parse_prompt(fields.get("prompt"), settings.max_input_chars)
    if not isinstance(prompt, str):
        validate_ids(prompt, tokenizer, "prompt")
    (count,) = service.count_prompt(CompletionRequest(prompts=(prompt,)), deployment)
    parsed = parse_request(fields, service, deployment, chat=False)
    sampling = parsed.sampling
    lengths = measure_lengths(service, deployment, count, parsed.asked)
    request_id = parse_id(request)
    codec = CompletionsCodec(
        id=request_id,
        model=model,
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        stops=sampling.stops,
        tokenizer=tokenizer,
        full_text=settings.full_text,
        beams=sampling.beams,
        prefix_cache=settings.prefix_cache,
    )
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(
            prompts=(prompt,),
            sampling=sampling.build_sampling(lengths.answer, parsed.logprobs),
            schema=ANY_OBJECT if parsed.form == "json_object" else parsed.schema,
        ),
        codec=codec,
        stream=parsed.stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=request_id.names,
    )


def _parse_prompt(value: JSON, limit: int) -> str | tuple[int, ...]:
    """Parse ``prompt``: a text, or a list of token ids."""
    if value is None:
        raise refusal("Contains not prompt or prompt null", "prompt")
    if isinstance(value, str):
        _validate_length(count_units(value), limit, "Prompt text")
        return value
    if not isinstance(value, list):
        raise refusal("The type of prompt is abnormal,prompt must be str or integer list.", "prompt")
    if not value:
        raise refusal("Prompt array cannot be empty.", "prompt")
    if not all(map(is_integer, value)):
        raise refusal("All elements of the prompt array must be integers.", "prompt")
    _validate_length(len(value), MAX_PROMPT_TOKENS, "Prompt token")
    return tuple(value)


def _validate_length(length: int, limit: int, name: str) -> None:
    if not 0 < length <= limit:
        text = f"Length of {name} should be greater than 0 and less than or equal to {limit}, but got {length}"
        raise refusal(text, "prompt")


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionsCodec(OpenAIAnswer):
    """Codec of text completions."""

    def render(self, plan: Plan, request: Request) -> Response:
        body = _encode_body(self, self.count_cached(plan, request))
        return Response(200, body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        plan = self.count_cached(plan, request)
        events = _stream_beams(self, plan) if self.beams else _stream(self, plan)
        return StreamingResponse(events, stream_headers(plan.key))


def _encode_body(answer: OpenAIAnswer, plan: Plan) -> bytes:
    choices = answer.parse_all(plan)
    rows = [
        _ROW
        % (
            index,
            quote_clean(choice.text()),
            _encode_logprobs(choice),
            encode_string(answer.find_finish_reason(choice)),
        )
        for index, choice in enumerate(choices)
    ]
    head, usage = _encode_head(answer, plan), _encode_usage(answer, plan, choices)
    return b'%b,"choices":[%b],%b}' % (head, b",".join(rows), usage)


def _stream_beams(answer: OpenAIAnswer, plan: Plan) -> Iterator[Event]:
    """Yield beam search results: one event with the whole body, then ``[DONE]``."""
    due = max(map(last_due, plan.choices))
    tokens = sum(len(choice.tokens) for choice in plan.choices)
    yield due, b"data: %b\n\n" % _encode_body(answer, plan), tokens, ENDED
    yield due, sse.DONE, 0, Mark.DONE


_HEAD = b'{"id":%b,"object":"text_completion","created":%d,"model":%b'
_ROW = b'{"index":%d,"text":%b,"logprobs":%b,"stop_reason":null,"finish_reason":%b}'


def _encode_head(answer: OpenAIAnswer, plan: Plan) -> bytes:
    """Encode the first members of each response and chunk."""
    return _HEAD % (answer.id.quote(plan.key), int(plan.created), encode_string(answer.model))


def _encode_usage(answer: OpenAIAnswer, plan: Plan, choices: list[Choice]) -> bytes:
    return b'"usage":%b' % dump_json(answer.build_usage(plan, choices))


def _encode_logprobs(choice: Choice) -> bytes:
    """Encode ``logprobs`` of the whole choice."""
    if choice.logprobs is None:
        return b"null"
    return _encode_entries(choice.logprobs, _find_offsets(choice), slice(len(choice.tokens)))


def _list_logprobs(choice: Choice) -> Iterator[bytes]:
    """Yield ``logprobs`` of each token."""
    logprobs = choice.logprobs
    if logprobs is None:
        return repeat(b"null")
    offsets = _find_offsets(choice)
    places = (slice(index, index + 1) for index in range(len(choice.tokens)))
    return (_encode_entries(logprobs, offsets, place) for place in places)


def _find_offsets(choice: Choice) -> list[int]:
    """Return the byte offset of each token in the text."""
    return list(accumulate((len(token.encode()) for token in choice.tokens), initial=0))[:-1]


def _encode_entries(logprobs: Sequence[Logprob], offsets: Sequence[int], place: slice) -> bytes:
    entries = logprobs[place]
    body: Object = {
        "text_offset": offsets[place],
        "token_logprobs": [entry.logprob for entry in entries],
        "tokens": [entry.token for entry in entries],
        "top_logprobs": [{entry.token: entry.logprob, **dict(entry.top)} for entry in entries],
    }
    return dump_json(body)


def _stream(answer: OpenAIAnswer, plan: Plan) -> Iterator[Event]:
    """Yield a chunk per token; choices without tokens are omitted."""
    choices = [cut_at_id(choice, answer.stops) for choice in plan.choices if choice.tokens]
    if not choices:
        return
    yield from interleave(
        [_stream_choice(answer, plan, choice, index) for index, choice in enumerate(choices)], in_turn=True
    )
    yield max(map(last_due, choices)), sse.DONE, 0, Mark.DONE


def _stream_choice(answer: OpenAIAnswer, plan: Plan, choice: Choice, index: int) -> Iterator[Event]:
    """Yield the chunks of one choice; the last one has its token counts."""
    times = time_tokens(choice, answer.stops, answer.tokenizer)
    last = len(times) - 1
    texts = quote_so_far(map(clean, choice.tokens)) if answer.full_text else map(quote_token, choice.tokens)
    logprobs = _list_logprobs(choice)
    before = b'data: %b,"choices":[{"index":%d,"text":' % (_encode_head(answer, plan), index)
    between, after = b',"logprobs":', b',"stop_reason":null,"finish_reason":null}]}\n\n'
    rows = zip(islice(times, last), texts, logprobs, count(1), strict=False)
    for due, text, logprob, position in rows:
        yield due, b"".join((before, text, between, logprob, after)), position, PLAIN
    ending = encode_string(answer.find_finish_reason(choice)), _encode_usage(answer, plan, [choice])
    after = b',"stop_reason":null,"finish_reason":%b}],%b}\n\n' % ending
    data = b"".join((before, next(texts), between, next(logprobs), after))
    yield times[last], data, len(choice.tokens), ENDED
