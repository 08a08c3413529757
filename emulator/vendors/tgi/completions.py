"""Parse ``POST /v1/completions`` requests and render their responses.

Source: text-generation-inference, ``router/src/lib.rs`` (CompletionBody) and ``router/src/server.rs``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest, Deployment
from emulator.encoding.sse import DONE, encode_event, encode_string
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE, interleave, last_token_due
from emulator.protocols.tgi import count_answers, find_served_deployment, report_counts
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.shapes import build_usage, find_finish_reason
from emulator.vendors.tgi.decoder import Field, Mismatch
from emulator.vendors.tgi.errors import early_refusal, encode_refusal, join_refusals
from emulator.vendors.tgi.generate.fields import Parameters
from emulator.vendors.tgi.generate.shapes import finish_reason, has_end, special_text
from emulator.vendors.tgi.headers import joint_headers, stream_headers
from emulator.vendors.tgi.keepalive import keep_alive
from emulator.vendors.tgi.request import ParsedRequest, parse_request, validate_started
from emulator.vendors.tgi.settings import TgiService, TgiSettings

_LAST = FINISH | USAGE
_PROMPTS: serde.Type[str | Sequence[str]] = serde.untagged(
    "PromptDeserializer", serde.string, serde.sequence(serde.string)
)


def _parse_prompt(value: JSON) -> Sequence[str]:
    found = _PROMPTS(value)
    if not found and not isinstance(found, str):
        raise Mismatch("Empty array detected. Do not use an empty array for the prompt.", where="after")
    return [found] if isinstance(found, str) else found


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionBody:
    """Fields of ``CompletionBody``; a single prompt is a list of one."""

    model: str | None = None
    prompt: Sequence[str]
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stream: bool = False
    seed: int | None = None
    suffix: str | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: Sequence[str] | None = None


COMPLETION_REQUEST = serde.build(
    CompletionBody,
    serde.struct(
        "CompletionRequest",
        (
            Field("model", serde.option(serde.string), listed=True),
            Field("prompt", _parse_prompt, required=True),
            Field("max_tokens", serde.option(serde.u32)),
            Field("temperature", serde.option(serde.f32)),
            Field("top_p", serde.option(serde.f32)),
            Field("stream", serde.boolean),
            Field("seed", serde.option(serde.u64), listed=True),
            Field("suffix", serde.option(serde.string)),
            Field("repetition_penalty", serde.option(serde.f32)),
            Field("frequency_penalty", serde.option(serde.f32)),
            Field("stop", serde.option(serde.sequence(serde.string))),
        ),
    ),
)


def parse_completions(request: Request, service: TgiService) -> InferenceCall:
    return parse_completions_body(service, serde.read(request, COMPLETION_REQUEST))


def parse_completions_body(service: TgiService, body: CompletionBody) -> InferenceCall:
    """Build the call of a parsed :data:`COMPLETION_REQUEST`."""
    _validate(body, service.settings)
    settings = service.settings
    deployments = tuple(service.deployments.values())
    deployment = validate_started(find_served_deployment(deployments, body.model or ""))
    numbers, parsed, refused = _parse_prompts(service, deployment, body)
    limits = tuple([one.limit for one in parsed])
    counts = tuple([one.prompt.count for one in parsed])
    tokenizer = service.tokenizer(deployment)
    codec = CompletionsCodec(
        settings=settings,
        model=find_served_deployment(deployments).name,
        prompt_tokens=counts,
        limits=limits,
        characters=sum(map(len, body.prompt)),
        numbers=tuple(numbers),
        refused=tuple([(number, encode_refusal(error, settings)) for number, error in refused.items()]),
        eos=(tokenizer.eos, special_text(tokenizer, tokenizer.eos)),
    )
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(
            prompts=tuple([one.prompt.text for one in parsed]),
            sampling=replace(parsed[0].sampling, max_tokens=max(limits)),
            limits=limits if len(set(limits)) > 1 else (),
            media=sum([one.prompt.media for one in parsed]),
        ),
        codec=codec,
        stream=body.stream,
        prompt_tokens=counts,
        repeatable=not _shares_places(body),
    )


def _shares_places(body: CompletionBody) -> bool:
    """Return whether some prompts may be generated without the others: it depends on how many places are free."""
    return body.stream and len(body.prompt) > 1


def _parse_prompts(
    service: TgiService, deployment: Deployment, body: CompletionBody
) -> tuple[list[int], list[ParsedRequest], dict[int, EmulatedError]]:
    """Return index and request of each valid prompt, and the errors of the others, of which only a stream may have.

    The prompts of a stream take the free places in their order, the others err. A prompt that is too long has its place
    until that is found, an empty one is refused at once.

    Source: text-generation-inference, ``router/src/infer/mod.rs:112-132`` (generate_stream): a place is taken before
    the request is validated.
    """
    parameters = _build_parameters(body)
    free = len(body.prompt)
    if _shares_places(body):
        free = service.settings.max_concurrent_requests - count_answers(service)
    numbers: list[int] = []
    parsed: list[ParsedRequest] = []
    refused: dict[int, EmulatedError] = {}
    for number, prompt in enumerate(body.prompt):
        if free <= 0:
            refused[number] = EmulatedError(ErrorKind.OVERLOADED)
            continue
        free -= bool(prompt)
        try:
            parsed.append(parse_request(service, deployment, prompt, parameters, stream=body.stream, logprobs=False))
            numbers.append(number)
        except EmulatedError as error:
            if not body.stream:
                raise
            refused[number] = error
    if not parsed:
        raise join_refusals(tuple(refused.values()))
    return numbers, parsed, refused


def _validate(body: CompletionBody, settings: TgiSettings) -> None:
    if body.suffix is not None:
        text = "Suffix is not supported and can be achieved by preprocessing the prompt."
        raise early_refusal(text, "suffix", "suffix not supported")
    limit = settings.max_client_batch_size
    if len(body.prompt) > limit:
        text = f"Number of prompts exceeds the maximum allowed batch size of {limit}"
        raise early_refusal(text, "prompt", "batch size exceeded")


def _build_parameters(body: CompletionBody) -> Parameters:
    """Build the equivalent parameters of generation; only temperature 0 is greedy."""
    return Parameters(
        temperature=body.temperature or None,
        do_sample=body.temperature != 0.0,
        repetition_penalty=body.repetition_penalty,
        frequency_penalty=body.frequency_penalty,
        top_p=body.top_p,
        max_new_tokens=body.max_tokens,
        stop=body.stop or (),
        seed=body.seed,
    )


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionsCodec:
    """Codec of text completions: one choice per prompt.

    Fields:
        prompt_tokens: number of tokens of each prompt.
        limits: maximum tokens of the response to each prompt.
        characters: number of characters of all prompts.
        numbers: index of each prompt among those of the request.
        refused: prompts of a stream that are refused: index, and the event that says so.
        eos: id of the end-of-sequence token, and its text.
    """

    settings: TgiSettings
    model: str
    prompt_tokens: tuple[int, ...]
    limits: tuple[int, ...]
    characters: int
    numbers: tuple[int, ...]
    refused: tuple[tuple[int, bytes], ...]
    eos: tuple[int, str]

    def render(self, plan: Plan, request: Request) -> Response:
        choices = [
            self._build_choice(choice, choice.text(), find_finish_reason(choice, self.limits[choice.prompt]))
            for choice in plan.choices
        ]
        counts = sum(self.prompt_tokens), sum(choice.count for choice in plan.choices)
        body = self._build_body(plan, choices, build_usage(*report_counts(plan, *counts)))
        headers = joint_headers(plan, self.settings, counts[0], self.characters)
        return Response(200, dump_json(body), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(keep_alive(self._stream(plan), plan), stream_headers(self.settings, self.characters))

    def _stream(self, plan: Plan) -> Iterator[Event]:
        """Yield the chunks of all choices by due time; the last chunk of each choice has its token counts.

        The error of a refused prompt comes in its turn, behind the first chunk of the prompt before it.

        Source: text-generation-inference, ``router/src/server.rs``, completions (``all_rxs``).
        """
        for number, event in self.refused:
            if number < self.numbers[0]:
                yield 0.0, event, 0, PLAIN
        yield from interleave([self._stream_choice(plan, choice) for choice in plan.choices], in_turn=True)
        yield last_token_due(plan), DONE, 0, Mark.DONE

    def _stream_choice(self, plan: Plan, choice: Choice) -> Iterator[Event]:
        total = len(choice.tokens)
        errors = self._list_errors(choice.prompt)
        if not total:
            return
        tail = dump_json({"model": self.model, "system_fingerprint": self.settings.fingerprint})[1:]
        before = b'data: {"object":"text_completion","id":"","created":%d,"choices":[{"index":%d,"text":' % (
            int(plan.created),
            self.numbers[choice.prompt],
        )
        after = b',"logprobs":null,"finish_reason":""}],%b\n\n' % tail
        for position, moment, token in zip(range(1, total), choice.due, choice.tokens, strict=False):
            yield moment, b"".join((before, encode_string(token), after)), position, PLAIN
            while errors:
                yield moment, errors.pop(0), position, PLAIN
        text = self.eos[1] if has_end(choice, self.eos[0]) else choice.tokens[-1]
        row = self._build_choice(choice, text, finish_reason(choice, self.limits[choice.prompt]))
        usage = build_usage(self.prompt_tokens[choice.prompt], choice.count)
        yield choice.due[-1], encode_event(self._build_body(plan, [row], usage)), total, _LAST
        for error in errors:
            yield choice.due[-1], error, total, PLAIN

    def _list_errors(self, prompt: int) -> list[bytes]:
        """Return the events of the refused prompts between this one and the next."""
        begin = self.numbers[prompt]
        end = self.numbers[prompt + 1] if prompt + 1 < len(self.numbers) else begin + len(self.refused) + 1
        return [event for number, event in self.refused if begin < number < end]

    def _build_choice(self, choice: Choice, text: str, reason: str) -> JSON:
        return {"index": self.numbers[choice.prompt], "text": text, "logprobs": None, "finish_reason": reason}

    def _build_body(self, plan: Plan, choices: Sequence[JSON], usage: JSON) -> Object:
        return {
            "object": "text_completion",
            "id": "",
            "created": int(plan.created),
            "model": self.model,
            "system_fingerprint": self.settings.fingerprint,
            "choices": choices,
            "usage": usage,
        }
