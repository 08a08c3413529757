"""Codec of ``/v1/chat/completions``: it renders whole responses; ``stream.py`` has the events of streams.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion) and ``router/src/chat.rs``.
"""

from collections.abc import Sequence

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json, dump_string, parse_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, Template
from emulator.protocols.choice_events import collect_message, is_plain_text
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.chat.calls import explain_cut, is_call, list_call_tokens, read_call
from emulator.vendors.tgi.chat.shapes import (
    SAMPLE_OPTIONS,
    ChatOptions,
    build_chat_usage,
    build_head,
    build_logprobs,
    count_prompt,
    find_finish_reason,
    list_texts,
    list_values,
)
from emulator.vendors.tgi.chat.stream import stream_chat
from emulator.vendors.tgi.errors import ErrorFields
from emulator.vendors.tgi.generate.shapes import has_end
from emulator.vendors.tgi.headers import JSON_HEADERS, response_headers, stream_headers
from emulator.vendors.tgi.keepalive import keep_alive
from emulator.vendors.tgi.rust_text import format_json

CALL_ID = "0"  # constant in non-streaming responses


@fast_dataclass(frozen=True, slots=True)
class ChatCodec:
    """Codec of chat completions."""

    options: ChatOptions

    def render(self, plan: Plan, request: Request) -> Response:
        options, choice = self.options, plan.choices[0]
        if is_plain_text(plan) and not options.logprobs and options.no_call is None:
            values = list_values(plan, options, dump_string(choice.sequence.text))
            return Response(200, _build_template().fill(values), self._headers(plan))
        if (cut := _find_cut(choice, options)) is not None:
            return Response(422, ErrorFields(f"Tool error: {cut}", "tool_error").body(), JSON_HEADERS)
        return Response(200, dump_json(_build_answer(plan, options)), self._headers(plan))

    def _headers(self, plan: Plan) -> Headers:
        """Build the headers of the last generation: behind a call of no tool, those of the second one."""
        options, choice = self.options, plan.choices[0]
        no_call = options.no_call
        if no_call is None:
            return response_headers(plan, options.settings, options.prompt_tokens, options.characters)
        characters = options.characters if is_call(choice) else no_call.characters
        headers = response_headers(plan, options.settings, options.prompt_tokens, characters)
        prompt = str(count_prompt(report_counts(plan, options.prompt_tokens, 0)[0], choice, options))
        return tuple([(name, prompt if name == "x-prompt-tokens" else value) for name, value in headers])

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = stream_headers(self.options.settings, self.options.characters)
        return StreamingResponse(keep_alive(stream_chat(plan, self.options), plan), headers)


@lru(1)
def _build_template() -> Template:
    """Return the byte template of all plain text responses."""
    values = list_values(SAMPLE, SAMPLE_OPTIONS, dump_json(SAMPLE_TEXT))
    return Template(dump_json(_build_answer(SAMPLE, SAMPLE_OPTIONS)), values)


def _find_cut(choice: Choice, options: ChatOptions) -> str | None:
    """Return why the router cannot read a call that reached the limit; ``None`` if it is whole or there is none."""
    if is_call(choice):
        tokens: Sequence[str] = list_call_tokens(choice, ended=False) if choice.finish_reason == "length" else ()
    else:
        tokens = () if options.no_call is None else options.no_call.tokens[: options.limit]
    text = "".join(tokens)
    return explain_cut(text) if text and read_call(text) is None else None


def _build_answer(plan: Plan, options: ChatOptions) -> Object:
    choice = plan.choices[0]
    entries, tokens = choice.logprobs or (), choice.tokens
    count, reason = choice.count, find_finish_reason(choice, options.limit)
    if is_call(choice):
        tokens = tuple(list_call_tokens(choice, ended=has_end(choice, options.eos[0])))
    texts = list_texts(choice, options, tokens)
    if options.no_call is not None and not is_call(choice):
        # The message is the second answer's; reason, tokens and log-probabilities are the first one's:
        # ``router/src/server.rs``, chat_completions, reads ``generation.details`` behind ``ChatChoice::NoTool``.
        texts = [*options.no_call.tokens, options.eos[1]][: options.limit]
        entries = tuple([entries[position % len(entries)] for position in range(len(texts) if entries else 0)])
        count, reason = len(texts), "length" if len(texts) == options.limit else "stop"
    row: JSON = {
        "index": 0,
        "message": _build_message(choice),
        "logprobs": build_logprobs(entries, options.top, texts) if options.logprobs else None,
        "finish_reason": reason,
    }
    return {
        **build_head(plan, options, "chat.completion"),
        "choices": [row],
        "usage": build_chat_usage(plan, options, count),
    }


def _build_message(choice: Choice) -> JSON:
    collected = collect_message(choice)
    if not collected.calls:
        return {"role": "assistant", "content": collected.text + collected.refusal}
    call = collected.calls[0]
    function: JSON = {"description": None, "name": call.name, "arguments": _compact(call.arguments)}
    return {"role": "assistant", "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


def _compact(arguments: str) -> str:
    """Return the arguments as the router re-encodes them; invalid JSON is unchanged."""
    try:
        return format_json(parse_json(arguments))
    except ValueError:
        return arguments
