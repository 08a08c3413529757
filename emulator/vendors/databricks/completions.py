"""``POST /serving-endpoints/completions``: parse completions of one or several prompts, and render their responses.

Sources: Databricks, "Foundation model REST API reference", completion task; databricks-genai-inference for batches and
streams.
"""

from collections.abc import Iterator

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Event, Mark, Request, Response, StreamingResponse
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest
from emulator.core.rng import draw_uuid
from emulator.encoding.sse import DONE, encode_string
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    ChoiceFinished,
    ChoiceStarted,
    TextRun,
    collect_message,
    interleave,
    iterate_choice,
    last_due,
    token_events,
)
from emulator.vendors.databricks.chat.fields import COMMON, TOLERATED
from emulator.vendors.databricks.chat.shapes import build_usage, encode_counts, encode_usage
from emulator.vendors.databricks.decoder import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    STRINGS,
    TEXTS,
    Shape,
    Struct,
    error_parameter,
)
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import DatabricksService, RenderOptions
from emulator.vendors.databricks.request import ParsedRequest, find_by_model
from emulator.vendors.databricks.sampling import (
    count_prompts,
    error_length,
    limit_output,
    parse_sampling,
    validate_output_limit,
    validate_sampling,
)
from emulator.vendors.databricks.settings import DatabricksSettings

_STRICT_FIELDS: dict[str, Shape] = {
    **COMMON,
    "prompt": TEXTS,
    "max_tokens": INTEGER,
    "stream": BOOLEAN,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_k": INTEGER,
    "error_behavior": STRING,
    "n": INTEGER,
    "stop": STRINGS,
    "suffix": STRING,
    "echo": BOOLEAN,
    "use_raw_prompt": BOOLEAN,
    "user": STRING,
}
_OPEN = b',"finish_reason":null,"logprobs":null}'
STRICT_FIELDS = Struct(_STRICT_FIELDS)
FIELDS = Struct({**_STRICT_FIELDS, **TOLERATED})


def parse_completions(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/completions``."""
    return parse_completion_request(find_by_model(request, service))


def parse_completion_request(parsed: ParsedRequest) -> InferenceCall:
    if parsed.deployment.task != "completions":
        # unverified
        raise error_parameter(f"Bad request: endpoint {parsed.deployment.name} does not support the completions task")
    parsed.check(STRICT_FIELDS if parsed.settings.strict_unknown_fields == "on" else FIELDS)
    prompts = _parse_prompts(parsed)
    validate_sampling(parsed)
    truncate = _parse_behavior(parsed)
    max_tokens = parsed.get_integer("max_tokens")
    if not truncate:
        validate_output_limit(parsed, "max_tokens", max_tokens)
    raw = bool(parsed.get("use_raw_prompt", False))
    prompts, counts = _truncate(parsed, prompts, raw, truncate)
    limit = limit_output(parsed.profile, max_tokens, max(counts))
    return InferenceCall(
        deployment=parsed.deployment,
        request=CompletionRequest(prompts=prompts, raw=raw, sampling=parse_sampling(parsed, limit)),
        codec=CompletionsCodec(
            parsed.settings,
            parsed.profile.style,
            parsed.served,
            echo=_list_prompts(parsed) if parsed.get("echo") else (),
            suffix=parsed.get_text("suffix"),
        ),
        stream=parsed.wants_stream(),
        prompt_tokens=counts,
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def _parse_prompts(parsed: ParsedRequest) -> tuple[str, ...]:
    if parsed.get("prompt") in (None, []):
        raise error_parameter("Missing required Completions parameter: 'prompt'", "prompt")
    prompts = _list_prompts(parsed)
    settings = parsed.settings
    limit = settings.max_streamed_prompts if parsed.wants_stream() else settings.max_prompts
    if len(prompts) > limit:
        streamed = " streamed" if parsed.wants_stream() else ""
        raise error_parameter(
            f"Bad request: at most {limit}{streamed} prompts are supported, but got {len(prompts)}", "prompt"
        )
    return prompts


def _list_prompts(parsed: ParsedRequest) -> tuple[str, ...]:
    """Return ``prompt`` as a tuple of texts; the decoder accepts a ``null`` in the list."""
    prompts = parsed.list_texts("prompt")
    if prompts is None:
        raise error_parameter("Bad request: prompt must be a string or a list of strings", "prompt")
    return prompts


def _parse_behavior(parsed: ParsedRequest) -> bool:
    """Return whether prompts are truncated to the context; only pay-per-token endpoints accept ``error_behavior``."""
    behavior = parsed.get("error_behavior")
    if behavior is None:
        return False
    if behavior not in ("truncate", "error"):
        text = f'Bad request: error_behavior must be "truncate" or "error", but got "{behavior}"'
        raise error_parameter(text, "error_behavior")
    if parsed.deployment.mode != "pay_per_token":
        raise error_parameter(
            "Bad request: error_behavior is only supported for pay-per-token endpoints", "error_behavior"
        )
    return behavior == "truncate"


def _truncate(
    parsed: ParsedRequest, prompts: tuple[str, ...], raw: bool, truncate: bool
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the prompts and their tokens, truncated to the context if ``truncate``.

    The place of the cut is unverified: the beginning stays, with one token left for the answer.
    """
    counts = count_prompts(parsed, CompletionRequest(prompts=prompts, raw=raw))
    context = parsed.deployment.context
    if context is None:
        return prompts, counts
    if not truncate:
        _validate_length(parsed, max(counts), context)
        return prompts, counts
    overhead = count_prompts(parsed, CompletionRequest(prompts=("",), raw=raw))[0]
    tokenizer = parsed.service.tokenizer(parsed.deployment)
    capacity = max(0, context - 1 - overhead)
    cut = tuple(
        prompt if number < context else tokenizer.decode(tokenizer.encode(prompt)[:capacity])
        for prompt, number in zip(prompts, counts, strict=True)
    )
    return cut, tuple(min(number, context - 1) for number in counts)


def _validate_length(parsed: ParsedRequest, longest: int, context: int) -> None:
    if longest > context:
        raise error_length(parsed.profile, longest, "prompt")
    max_tokens = parsed.get_integer("max_tokens") or 0
    if longest + max_tokens > context:
        text = (
            "Bad request: rpc error: code = InvalidArgument desc = prompt token count"
            f" ({longest}) plus max_tokens ({max_tokens}) cannot exceed {context}."
        )
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "max_tokens")  # wording unverified


@fast_dataclass(frozen=True, slots=True, eq=False)
class CompletionsCodec:
    """Codec of completions; ``index`` is the position of the prompt, also with several answers to each.

    Fields:
        served: the served entity that answers.
        echo: the prompts, if answers repeat them.
        suffix: text after each answer.
    """

    settings: DatabricksSettings
    style: RenderOptions
    served: str
    echo: tuple[str, ...]
    suffix: str

    def render(self, plan: Plan, request: Request) -> Response:
        body: Object = {
            "id": f"cmpl_{draw_uuid(plan.key, 'completion')}",
            "object": "text_completion",
            "created": int(plan.created),
            "model": self.style.model,
            "choices": [self._build_choice(choice) for choice in plan.choices],
            "usage": build_usage(plan.usage, self.style),
        }
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(self._events(plan), answer_headers(request, self.settings, self.served, stream=True))

    def _build_choice(self, choice: Choice) -> Object:
        message = collect_message(choice)
        text = f"{self._echo(choice)}{message.text}{message.refusal}{self.suffix}"
        return {"index": choice.prompt, "text": text, "finish_reason": choice.finish_reason, "logprobs": None}

    def _echo(self, choice: Choice) -> str:
        return self.echo[choice.prompt] if self.echo else ""

    def _events(self, plan: Plan) -> Iterator[Event]:
        """Yield a chunk for each text, with running usage, and a last one with the finish reason."""
        prefix = (
            f'data: {{"id":"cmpl_{draw_uuid(plan.key, "completion")}","object":"text_completion",'
            f'"created":{int(plan.created)},"model":'
        ).encode() + encode_string(self.style.model)
        prompt, remaining = plan.usage.prompt_tokens, len(plan.choices)
        counted = self.style.usage_style == "every"
        for due, choice, tokens, mark in interleave([self._stream_choice(c) for c in plan.choices], in_turn=True):
            remaining -= mark is FINISH
            usage = b""
            if not remaining and self.style.usage_style != "none":
                usage, mark = b',"usage":' + encode_usage(plan.usage, self.style), Mark.FINISH | Mark.USAGE
            elif counted:
                usage = b',"usage":' + encode_counts(prompt, tokens)
            yield due, b'%b,"choices":[%b]%b}\n\n' % (prefix, choice, usage), tokens, mark
        yield max(map(last_due, plan.choices), default=0.0), DONE, 0, Mark.DONE

    def _stream_choice(self, choice: Choice) -> Iterator[Event]:
        """Yield the chunks of one choice without the common prefix."""
        before = b'{"index":%d,"text":' % choice.prompt
        for step in iterate_choice(choice):
            if isinstance(step, TextRun):
                yield from token_events(choice, step, before, _OPEN)
            elif isinstance(step, ChoiceStarted) and (echo := self._echo(choice)):
                yield step.due, before + encode_string(echo) + _OPEN, 0, PLAIN
            elif isinstance(step, ChoiceFinished):
                if self.suffix:
                    yield step.due, before + encode_string(self.suffix) + _OPEN, step.tokens, PLAIN
                finish = b'%b"","finish_reason":"%b","logprobs":null}' % (before, choice.finish_reason.encode())
                yield step.due, finish, step.tokens, FINISH
