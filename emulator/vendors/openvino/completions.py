"""Parse ``/v3/completions`` requests and render their responses.

Source: model_server, src/llm/apis/openai_completions.cpp, parseCompletionsPart and serializeUnaryResponse.
"""

from collections.abc import Iterable

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.plan import Choice, Logprob, Plan, PromptTokens
from emulator.core.requests import CompletionRequest
from emulator.vendors.openvino.chat.fields import begin_fields, parse_fields, parse_first_fields
from emulator.vendors.openvino.chat.shapes import finish_reason, format_logprob, merge_into_text, render_body
from emulator.vendors.openvino.chat.stream import ChunkTemplate, TextStream, has_second_step
from emulator.vendors.openvino.decoder import is_int32, quote, quote_long
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields, ParsedRequest, parse_flag
from emulator.vendors.openvino.sampling import build_sampling
from emulator.vendors.openvino.settings import OpenVinoSettings

_INLINE_TOKENS = 8_192  # echoed prompt tokens; rendering more takes some milliseconds


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionsCodec:
    """Codec of ``/v3/completions``; ``echo``: the text starts with the prompt."""

    settings: OpenVinoSettings
    model: str
    prompt: str
    echo: bool
    include_usage: bool
    stateful: bool

    def render(self, plan: Plan, request: Request) -> Response:
        choices = [self._render_choice(plan, index, choice) for index, choice in enumerate(plan.choices)]
        settings = self.settings
        body = render_body(plan, choices, b"text_completion", model=self.model, prompt=self.prompt, settings=settings)
        return Response(200, body, settings.json_headers)

    def _render_choice(self, plan: Plan, index: int, choice: Choice) -> bytes:
        logprobs = b"null"
        if choice.logprobs is not None:
            prompt = plan.prompts[choice.prompt] if plan.prompts else None
            logprobs = _render_logprobs(choice.logprobs, prompt)
        text = quote_long(self._find_echo() + merge_into_text(choice).sequence.text)
        reason = finish_reason(choice, self.settings.release)
        return b'{"finish_reason":%b,"index":%d,"logprobs":%b,"text":%b}' % (reason, index, logprobs, text)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        """Return ``text_completion.chunk`` events; the name is the server's own."""
        release = self.settings.release
        choice = merge_into_text(plan.choices[0])
        handshake = release.handshake and not self.stateful and has_second_step(choice)
        template = ChunkTemplate.make(
            plan,
            choice,
            release,
            kind=b"text_completion",
            model=self.model,
            usage=self.include_usage,
            around=(b'"text":', b""),
            opening=b'"text":""' if handshake else b"",
        )
        return StreamingResponse(TextStream(plan, choice, template, self._find_echo()), self.settings.stream_headers)

    def _find_echo(self) -> str:
        return self.prompt if self.echo else ""


def _render_logprobs(entries: Iterable[Logprob], prompt: PromptTokens | None) -> bytes:
    """Encode log-probabilities, those of an echoed prompt first; its first token has none. Offsets are bytes."""
    echoed = list(prompt.logprobs) if prompt is not None else []
    tokens, values, tops, offsets = [], [], [], []
    offset = 0
    for position, entry in enumerate([*echoed, *entries]):
        token = quote(entry.token)
        value = b"null" if echoed and position == 0 else format_logprob(entry.logprob)
        tokens.append(token)
        values.append(value)
        tops.append(b"{%b:%b}" % (token, value))
        offsets.append(b"%d" % offset)
        offset += len(entry.token.encode())
    lists = (b",".join(column) for column in (tokens, values, tops, offsets))
    return b'{"tokens":[%b],"token_logprobs":[%b],"top_logprobs":[%b],"text_offset":[%b]}' % tuple(lists)


def parse_completions(parsed: ParsedRequest) -> InferenceCall:
    if parsed.profile.kind == "vision" and parsed.release.since(2026, 3):
        raise refusal("VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses.")
    fields, prompt = _parse_all(parsed)
    deployment = parsed.deployment
    service = parsed.service
    if fields.echo:
        count = service.tokenizer(deployment).count
        service.bounds.check_texts((prompt,), count, "prompt", each=2 if fields.logprobs else 1)
    counted = service.count_prompt(CompletionRequest(prompts=(prompt,)), deployment)
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(prompts=(prompt,), sampling=build_sampling(fields, counted[0])),
        codec=CompletionsCodec(
            settings=parsed.settings,
            model=deployment.name,
            prompt=prompt,
            echo=fields.echo,
            include_usage=fields.include_usage,
            stateful=parsed.profile.stateful,
        ),
        stream=parsed.stream,
        prompt_tokens=counted,
        served=parsed.method,
        repeatable=True,
        is_cpu_heavy=fields.echo and counted[0] > _INLINE_TOKENS,
    )


def _parse_all(parsed: ParsedRequest) -> tuple[Fields, str]:
    """Parse the fields and the prompt; only 2024.2 parses the prompt first, and fewer fields."""
    if not parsed.release.since(2025, 0):
        fields = begin_fields(parsed)
        prompt = _parse_prompt(fields)
        parse_first_fields(fields)
        if not prompt:
            raise refusal("Prompt is missing")
        return fields, prompt
    fields = parse_fields(parsed)
    prompt = _parse_prompt(fields)
    if not prompt:
        raise refusal("prompt is missing")
    _parse_logprobs(fields)
    fields.echo = parse_flag(fields, "echo")
    if fields.max_tokens == 0 and not fields.echo:
        raise refusal("max_tokens value should be greater than 0 unless echo is set")
    return fields, prompt


def _parse_prompt(fields: Fields) -> str:
    prompt = fields.body.get("prompt", "")
    if not isinstance(prompt, str):
        raise refusal("prompt is not a string")
    return prompt


def _parse_logprobs(fields: Fields) -> None:
    value = fields.body.get("logprobs")
    if value is None:
        return
    if not is_int32(value):
        raise refusal("logprobs accepts integer values")
    if value != 1:
        raise refusal("accepted logprobs value is currently 1 only")
    if fields.parsed.stream:
        raise refusal("logprobs are not supported in streaming mode.")
    fields.logprobs = True
