"""Codec of ``/v3/chat/completions``: it renders whole responses; ``stream.py`` has the events of streams.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeUnaryResponse.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.plan import Choice, Logprob, Plan, SegmentKind
from emulator.encoding.template import SAMPLE, Template
from emulator.protocols.choice_events import collect_message, is_plain_text
from emulator.vendors.openvino.chat.shapes import (
    draw_id,
    finish_reason,
    format_logprob,
    merge_into_text,
    render_body,
)
from emulator.vendors.openvino.chat.stream import ChunkTemplate, TextStream, has_second_step
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.settings import OpenVinoSettings


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatCodec:
    """Codec of ``/v3/chat/completions``.

    Fields:
        prompt: text of the last turn.
        stateful: the servable is stateful.
        omits_logprobs: non-streaming responses have no ``logprobs``.
        separate_kinds: kinds of segments that are parsed out of the text.
        markup: format of a tool call in the text.
        voice: a non-streaming response has audio.
        template: template of a response with a single text choice.
    """

    settings: OpenVinoSettings
    model: str
    prompt: str
    include_usage: bool
    stateful: bool
    omits_logprobs: bool
    separate_kinds: frozenset[SegmentKind]
    markup: str
    voice: Voice | None
    template: Template | None = None

    def render(self, plan: Plan, request: Request) -> Response:
        template = self.template
        body = (
            self._render_body(plan)
            if template is None or not is_plain_text(plan)
            else template.fill(self._list_values(plan))
        )
        return Response(200, body, self.settings.json_headers)

    def build_template(self) -> Template:
        """Return the byte template of a response with a single text choice; only without voice and verbose output."""
        return Template(self._render_body(SAMPLE), self._list_values(SAMPLE))

    def _list_values(self, plan: Plan) -> tuple[int | bytes, ...]:
        """Return the values for the template of responses with a single text choice, in the order of its slots."""
        choice, usage = plan.choices[0], plan.usage
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        return (
            finish_reason(choice, self.settings.release),
            quote_long(choice.sequence.text),
            int(plan.created),
            prompt,
            completion,
            prompt + completion,
        )

    def _render_body(self, plan: Plan) -> bytes:
        merged = [merge_into_text(choice, self.separate_kinds, self.markup) for choice in plan.choices]
        choices = [self._render_choice(plan, index, choice) for index, choice in enumerate(merged)]
        return render_body(
            plan, choices, b"chat.completion", model=self.model, prompt=self.prompt, settings=self.settings
        )

    def _render_choice(self, plan: Plan, index: int, choice: Choice) -> bytes:
        release = self.settings.release
        logprobs = b'"logprobs":null,'
        if self.omits_logprobs:
            logprobs = b""
        elif choice.logprobs is not None and release.logprobs_content:
            logprobs = b'"logprobs":%b,' % _render_logprobs(choice.logprobs)
        reason = finish_reason(choice, release)
        message = self._render_message(plan, index, choice)
        return b'{"finish_reason":%b,"index":%d,%b"message":%b}' % (reason, index, logprobs, message)

    def _render_message(self, plan: Plan, index: int, choice: Choice) -> bytes:
        """Encode ``message``; releases that parse tool calls always have ``tool_calls``."""
        release = self.settings.release
        collected = collect_message(choice)
        calls = [
            b'{"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}'
            % (quote(draw_id(plan, call.id, index, call.number)), quote(call.name), quote_long(call.arguments))
            for call in collected.calls
        ]
        text = quote_long(collected.text + collected.refusal)
        voice = self.voice
        return b'{"content":%b,%b"role":"assistant"%b%b}' % (
            text if voice is None or voice.writes else b"null",
            b'"reasoning_content":%b,' % quote_long(collected.reasoning) if collected.reasoning else b"",
            b"" if release.tools == "ignored" else b',"tool_calls":[%b]' % b",".join(calls),
            b"" if voice is None else b',"audio":{"data":"%b","transcript":%b}' % (voice.say(collected.text), text),
        )

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        release = self.settings.release
        choice = merge_into_text(plan.choices[0], self.separate_kinds, self.markup)
        handshake = release.handshake and not self.stateful and has_second_step(choice)
        template = ChunkTemplate.make(
            plan,
            choice,
            release,
            kind=b"chat.completion",
            model=self.model,
            usage=self.include_usage,
            around=(b'"delta":{"content":', b"}"),
            opening=b'"delta":{"role":"assistant","content":null}' if handshake else b"",
            empty=b'"delta":{}' if release.empty_delta or release.closing_chunk else b"",
        )
        return StreamingResponse(TextStream(plan, choice, template), self.settings.stream_headers)


def _render_logprobs(entries: Iterable[Logprob]) -> bytes:
    """Encode log-probabilities; alternatives are never listed."""
    return b'{"content":[%b]}' % b",".join(
        b'{"token":%b,"logprob":%b,"bytes":[%b],"top_logprobs":[]}'
        % (quote(e.token), format_logprob(e.logprob), ",".join(map(str, e.token.encode())).encode())
        for e in entries
    )
