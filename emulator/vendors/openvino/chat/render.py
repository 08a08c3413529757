"""Answers of chat.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeUnaryResponse.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.plan import Choice, Logprob, Plan, SegmentKind
from emulator.protocols.choice_events import collect_message, is_plain_text
from emulator.vendors.openvino.chat.shapes import (
    draw_id,
    finish_reason,
    format_logprob,
    put_in_text,
    render_body,
    render_usage,
)
from emulator.vendors.openvino.chat.stream import ChunkTemplate, TextStream, takes_a_second_step
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.settings import OpenVinoSettings


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatCodec:
    """``/v3/chat/completions``.

    Fields:
        prompt: of the last turn.
        stateful: the servable is.
        omits_logprobs: an answer in one piece has no such key.
        apart: what is read out of the text; ``markup``: how a call looks in it.
        voice: the answer is said, too, unless it is streamed.
        template: of the usual answer, one text and nothing else, where many of them are to come.
    """

    settings: OpenVinoSettings
    model: str
    prompt: str
    include_usage: bool
    stateful: bool
    omits_logprobs: bool
    apart: frozenset[SegmentKind]
    markup: str
    voice: Voice | None
    template: bytes = b""

    def render(self, plan: Plan, request: Request) -> Response:
        if self.template and is_plain_text(plan):
            return Response(200, self._fill(plan), self.settings.json_headers)
        apart = [put_in_text(choice, self.apart, self.markup) for choice in plan.choices]
        choices = [self._render_choice(plan, index, choice) for index, choice in enumerate(apart)]
        settings = self.settings
        body = render_body(plan, choices, b"chat.completion", model=self.model, prompt=self.prompt, settings=settings)
        return Response(200, body, settings.json_headers)

    def make_template(self) -> bytes:
        """What all usual answers have in common; it is for a codec without a voice and not for verbose answers."""
        release = self.settings.release
        logprobs = b"" if self.omits_logprobs else b'"logprobs":null,'
        calls = b"" if release.tools == "ignored" else b',"tool_calls":[]'
        model = quote(self.model).replace(b"%", b"%%")
        return (
            b'{"choices":[{"finish_reason":%%b,"index":0,%b"message":{"content":%%b,"role":"assistant"%b}}],'
            b'"created":%%d,"model":%b,"object":"chat.completion"%%b}'
        ) % (logprobs, calls, model)

    def _fill(self, plan: Plan) -> bytes:
        """The usual answer, as it would be put together of its choices."""
        choice, release = plan.choices[0], self.settings.release
        usage = b"," + render_usage(plan.usage) if release.unary_usage else b""
        return self.template % (
            finish_reason(choice, release),
            quote_long(choice.tokens_said.text),
            int(plan.created),
            usage,
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
        """Releases that read tool calls always list them."""
        release = self.settings.release
        said = collect_message(choice)
        calls = [
            b'{"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}'
            % (quote(draw_id(plan, call.id, index, call.number)), quote(call.name), quote_long(call.arguments))
            for call in said.calls
        ]
        text = quote_long(said.text + said.refusal)
        voice = self.voice
        return b'{"content":%b,%b"role":"assistant"%b%b}' % (
            text if voice is None or voice.writes else b"null",
            b'"reasoning_content":%b,' % quote_long(said.reasoning) if said.reasoning else b"",
            b"" if release.tools == "ignored" else b',"tool_calls":[%b]' % b",".join(calls),
            b"" if voice is None else b',"audio":{"data":"%b","transcript":%b}' % (voice.say(said.text), text),
        )

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        release = self.settings.release
        choice = put_in_text(plan.choices[0], self.apart, self.markup)
        handshake = release.handshake and not self.stateful and takes_a_second_step(choice)
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
    """Alternatives are never listed."""
    return b'{"content":[%b]}' % b",".join(
        b'{"token":%b,"logprob":%b,"bytes":[%b],"top_logprobs":[]}'
        % (quote(e.token), format_logprob(e.logprob), ",".join(map(str, e.token.encode())).encode())
        for e in entries
    )
