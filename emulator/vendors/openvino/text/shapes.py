"""Answers of chat and completions in one piece: templates of bytes, filled in.

Source: model_server, src/llm/apis/openai_completions.cpp, serializeUnaryResponse; no release sends an ``id``.
"""

from __future__ import annotations

from emulator.core.call import Deployment
from emulator.core.plan import Choice, Plan, Usage
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse
from emulator.vendors.openvino.decoder import quote, quote_long
from emulator.vendors.openvino.kinds import kind_of
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.text.logprobs import render_chat_logprobs, render_completion_logprobs
from emulator.vendors.openvino.text.spans import call_id, flatten, is_plain


def finish_reason(choice: Choice, release: Release) -> bytes:
    """Why a choice ended, in the words the release has."""
    reason: str = choice.finish_reason
    if (reason == "tool_calls" and not release.tool_calls_reason) or (reason == "length" and not release.length_reason):
        reason = "stop"
    return b'"%b"' % reason.encode()


def render_usage(usage: Usage) -> bytes:
    """The member ``usage``."""
    return b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
    )


def _render_body(plan: Plan, call: Call, settings: OpenVinoSettings, choices: list[bytes], kind: bytes) -> bytes:
    release = settings.release
    return b'{"choices":[%b],"created":%d,"model":%b,"object":"%b"%b%b}' % (
        b",".join(choices),
        int(plan.created),
        quote(call.deployment.name),
        kind,
        b"," + render_usage(plan.usage) if release.unary_usage else b"",
        _render_verbose(plan, call) if settings.verbose_response and release.empty_delta else b"",
    )


def _render_verbose(plan: Plan, call: Call) -> bytes:
    """The prompt shown is the last turn's, without its template: unverified."""
    content = plan.choices[0].text() if plan.choices else ""
    return b',"__verbose":{"prompt":%b,"content":%b}' % (quote_long(call.ask.prompt or ""), quote_long(content))


def render_chat(plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
    """A ``chat.completion``."""
    settings = service.settings
    release = settings.release
    choices = []
    for index, choice in enumerate(plan.choices):
        logprobs = b'"logprobs":null,'
        if _omits_logprobs(call.deployment, release):
            logprobs = b""
        elif choice.logprobs is not None and release.logprobs_content:
            logprobs = b'"logprobs":%b,' % render_chat_logprobs(choice.logprobs)
        message = _render_message(plan, index, choice, release)
        choices.append(
            b'{"finish_reason":%b,"index":%d,%b"message":%b}'
            % (finish_reason(choice, release), index, logprobs, message)
        )
    return WireResponse(200, _render_body(plan, call, settings, choices, b"chat.completion"), settings.json_headers)


def _omits_logprobs(deployment: Deployment, release: Release) -> bool:
    """Stateful and vision graphs of later releases have no such key in an answer in one piece."""
    return release.finish_reason_last and (kind_of(deployment) == "vision" or bool(deployment.traits.get("stateful")))


def _render_message(plan: Plan, index: int, choice: Choice, release: Release) -> bytes:
    """A message; releases that read tool calls always list them."""
    if release.tools == "ignored":
        text = choice.text() if is_plain(choice) else "".join(flatten(choice)[0])
        return b'{"content":%b,"role":"assistant"}' % quote_long(text)
    if is_plain(choice):
        return b'{"content":%b,"role":"assistant","tool_calls":[]}' % quote_long(choice.text())
    calls = [
        b'{"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}'
        % (
            call_id(plan, span, index, number),
            quote(span.name),
            quote_long("".join(choice.tokens[span.start : span.end])),
        )
        for number, span in enumerate(s for s in choice.spans if s.kind == "tool_call")
    ]
    reasoning = choice.text("reasoning")
    return b'{"content":%b,%b"role":"assistant","tool_calls":[%b]}' % (
        quote_long(choice.text() + choice.text("refusal")),
        b'"reasoning_content":%b,' % quote_long(reasoning) if reasoning else b"",
        b",".join(calls),
    )


def render_completion(plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
    """A ``text_completion``; an echoed prompt opens the text."""
    settings = service.settings
    choices = []
    for index, choice in enumerate(plan.choices):
        tokens = choice.tokens if is_plain(choice) else flatten(choice)[0]
        logprobs = b"null"
        if choice.logprobs is not None:
            prompt = plan.prompts[choice.prompt] if plan.prompts else None
            logprobs = render_completion_logprobs(choice.logprobs, prompt)
        text = quote_long(call.context.echo + "".join(tokens))
        reason = finish_reason(choice, settings.release)
        choices.append(b'{"finish_reason":%b,"index":%d,"logprobs":%b,"text":%b}' % (reason, index, logprobs, text))
    return WireResponse(200, _render_body(plan, call, settings, choices, b"text_completion"), settings.json_headers)
