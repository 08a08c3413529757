"""Build responses of the OpenAI Responses API: response objects, output items, stream events.

Azure and Databricks render them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark
from emulator.core.json import JSON, Object, as_object, dump_json
from emulator.core.plan import Choice, Plan, SegmentKind, Usage
from emulator.core.rng import draw_hex, draw_opaque
from emulator.encoding.obfuscation import pad
from emulator.encoding.sse import DONE, encode_event, encode_string
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    TextRun,
    ToolCallStarted,
    first_due,
    iterate_choice,
    last_due,
)
from emulator.protocols.openai.messages import build_logprob

Status = Literal["queued", "in_progress", "completed", "incomplete"]
OWN_FIELDS = frozenset(
    {
        "id", "object", "created_at", "status", "completed_at", "error", "incomplete_details", "model", "output",
        "usage",
    }
)  # fmt: skip
"""Fields of a response that do not repeat its request."""

OTHER_ITEMS = (
    "reasoning", "item_reference", "computer_call", "computer_call_output", "file_search_call", "web_search_call",
    "image_generation_call", "code_interpreter_call", "local_shell_call", "local_shell_call_output", "shell_call",
    "shell_call_output", "apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response", "mcp_call", "compaction",
)  # fmt: skip
"""Kinds of items of ``input`` that are no message and no call of the client's tools.

Source: openai-python, ``types/responses/response_input_item_param.py``.
"""
# Fields of a request in the order of a response object, with their defaults.
_ECHOED: Object = {
    "background": False, "conversation": None, "frequency_penalty": 0.0, "instructions": None,
    "max_output_tokens": None, "max_tool_calls": None,
    "parallel_tool_calls": True, "presence_penalty": 0.0, "previous_response_id": None, "prompt": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None, "reasoning": None, "safety_identifier": None, "service_tier": "default",
    "store": True, "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
    "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "user": None, "metadata": {},
}  # fmt: skip


@fast_dataclass(frozen=True, slots=True)
class Citation:
    """Passage of an answer that a file says."""

    passage: str
    file: str
    filename: str


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResponseOptions:
    """Rendering options of a response.

    Fields:
        model: the endpoint's model name.
        draw_id: draws the response's id from the key of the plan.
        echo: fields that repeat the request.
        chat_usage: ``usage`` also has chat's names.
        stream_usage: the stream's last event has usage.
        events: the stream has ``event:`` lines.
        done: the stream ends with ``[DONE]``.
        summary: reasoning items show their text.
        encrypted: reasoning items have an encrypted form of their text.
        obfuscate: deltas are padded, so that their size does not tell the text's.
        queued: the response waits in the background before generation starts.
        customs: names of the custom tools, which take one text.
        searches: file search calls before all other items, without their ids.
        citations: passages to annotate in the text; without any of them in it, its end is annotated with the first.
        findings: fields that are set when the response has ended and ``null`` before.
        filtered: their values if the content filter ended the response.
    """

    model: str
    draw_id: Callable[[bytes], str]
    echo: Object
    chat_usage: bool
    stream_usage: bool
    events: bool
    done: bool
    summary: bool
    encrypted: bool
    obfuscate: bool = False
    queued: bool = False
    customs: frozenset[str] = frozenset()
    searches: Sequence[Object] = ()
    citations: Sequence[Citation] = ()
    findings: Object = field(default_factory=dict)
    filtered: Object = field(default_factory=dict)


@fast_dataclass(frozen=True, slots=True, eq=False)
class Item:
    """Item of ``output``: its tokens ``tokens[start:end]`` and, for a call, the tool's name and a fixed id."""

    number: int
    kind: SegmentKind
    start: int
    end: int
    name: str = ""
    id: str = ""


def list_items(choice: Choice, first: int = 0) -> list[Item]:
    """Return the output items of a choice, numbered from ``first``; adjacent texts are one message."""
    items: list[Item] = []
    call: ToolCallStarted | None = None
    for step in iterate_choice(choice):
        if isinstance(step, ToolCallStarted):
            call = step
        elif isinstance(step, TextRun):
            if step.kind == "tool_call" and call is not None:
                items.append(Item(first + len(items), step.kind, step.start, step.end, call.name, call.id))
            elif items and items[-1].kind == step.kind == "text":
                items[-1] = replace(items[-1], end=step.end)
            else:
                items.append(Item(first + len(items), step.kind, step.start, step.end))
    return items


def find_status(plan: Plan) -> Status:
    """Return ``incomplete`` for a choice that was cut by its limit or filtered, else ``completed``."""
    cut = any(choice.finish_reason in ("length", "content_filter") for choice in plan.choices)
    return "incomplete" if cut else "completed"


def build_echo(given: Mapping[str, JSON], own: Object, without: Collection[str]) -> Object:
    """Return the fields that repeat a request: the vendor's own value, else the given one, else the default."""
    values = {**_ECHOED, **{name: value for name, value in given.items() if value is not None}, **own}
    text = as_object(values["text"])
    values["text"] = {**as_object(_ECHOED["text"]), **text, "format": _complete_format(text.get("format"))}
    return {name: values[name] for name in _ECHOED if name not in without}


def _complete_format(form: JSON) -> JSON:
    """Return a format with the ``description`` that the service adds to a schema with a name.

    Source: responses recorded in public repositories, ``text.format`` with ``"description": null`` after the type.
    """
    if not form:
        return as_object(_ECHOED["text"])["format"]
    if isinstance(form, dict) and "name" in form:
        return {"type": form["type"], "description": None, **form}
    return form


def complete_tool(tool: Object) -> Object:
    """Return a tool with the defaults that the service adds."""
    if tool.get("type") == "function":
        given = {name: value for name, value in tool.items() if value is not None}
        return {"type": "function", "description": None, "name": "", "parameters": None, "strict": True, **given}
    if tool.get("type") == "custom":
        return {"type": "custom", "format": {"type": "text"}, **tool}
    if tool.get("type") == "file_search":
        ranking: Object = {"ranker": "auto", "score_threshold": 0.0, **as_object(tool.get("ranking_options") or {})}
        usual: Object = {"type": "file_search", "filters": None, "max_num_results": 20}
        return {**usual, **tool, "ranking_options": ranking}
    return tool


def build_response(plan: Plan, options: ResponseOptions, *, usage: bool = True) -> Object:
    """Return the response object at its end."""
    found = options.findings
    reason: JSON = None
    status = find_status(plan)
    if status == "incomplete":
        filtered = any(choice.finish_reason == "content_filter" for choice in plan.choices)
        found = options.filtered if filtered and options.filtered else found
        reason = {"reason": "content_filter" if filtered else "max_output_tokens"}
    return {
        **build_pending(plan, options, status),
        "completed_at": int(plan.created + last_due(plan.choices[0])) if _is_complete(plan) else None,
        "incomplete_details": reason,
        "output": build_output(plan, options),
        **found,
        "usage": build_usage(plan.usage, options) if usage else None,
    }


def _is_complete(plan: Plan) -> bool:
    return bool(plan.choices) and find_status(plan) == "completed"


def build_pending(plan: Plan, options: ResponseOptions, status: Status) -> Object:
    """Return the response object before its end."""
    return {
        "id": options.draw_id(plan.key),
        "object": "response",
        "created_at": int(plan.created),
        "status": status,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "model": options.model,
        "output": [],
        **options.echo,
        **dict.fromkeys(options.findings),
        "usage": None,
    }


def find_top_logprobs(given: int | None, include: Collection[JSON]) -> int | None:
    """Return ``top_logprobs``; 0 if ``include`` alone requests log-probabilities."""
    return 0 if given is None and "message.output_text.logprobs" in include else given


def build_usage(usage: Usage, options: ResponseOptions) -> Object:
    """Return ``usage`` under OpenAI's names and, with ``chat_usage``, also chat's."""
    shape: Object = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.stored_tokens,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
    if options.chat_usage:
        shape["prompt_tokens"] = usage.prompt_tokens
        shape["completion_tokens"] = usage.completion_tokens
        shape["reasoning_tokens"] = usage.reasoning_tokens
    return shape


def build_output(plan: Plan, options: ResponseOptions) -> list[JSON]:
    """Return ``output``: reasoning items, messages and calls in the order of generation."""
    if not plan.choices:
        return []
    items = list_items(plan.choices[0], len(options.searches))
    statuses: list[Status] = ["completed"] * len(items)
    statuses[-1:] = [find_status(plan)] if items else []
    searches = [_build_search(plan, search, number) for number, search in enumerate(options.searches)]
    made = [build_item(plan, options, item, status=status) for item, status in zip(items, statuses, strict=True)]
    return [*searches, *made]


def _build_search(plan: Plan, search: Object, number: int) -> Object:
    """Return a file search call with its id."""
    key = plan.key
    name = f"fs_{draw_hex(key, 'item', number)}{draw_hex(key, 'item', number, 'end', digits=16)}"
    return {"id": name, "type": "file_search_call", **search}


def build_item(plan: Plan, options: ResponseOptions, item: Item, *, status: Status) -> Object:
    """Return an output item; one in progress has no content yet."""
    choice = plan.choices[0]
    empty = status == "in_progress"
    text = "" if empty else join_text(choice, item)
    if item.kind == "reasoning":
        return _build_reasoning(plan, options, item, text)
    name = draw_item_id(plan.key, item, options)
    if item.kind == "tool_call":
        custom = item.name in options.customs
        return {
            "type": "custom_tool_call" if custom else "function_call",
            "id": name,
            "call_id": item.id or f"call_{draw_hex(plan.key, 'call', item.number, digits=24)}",
            "name": item.name,
            "input" if custom else "arguments": text,
            "status": status,
        }
    content: list[JSON] = [] if empty else [build_content(choice, item, text, options)]
    return {"id": name, "type": "message", "role": "assistant", "status": status, "content": content}


def _build_reasoning(plan: Plan, options: ResponseOptions, item: Item, text: str) -> Object:
    summary: list[JSON] = [{"type": "summary_text", "text": text}] if text and options.summary else []
    shape: Object = {"type": "reasoning", "id": draw_item_id(plan.key, item, options), "summary": summary}
    if options.encrypted:
        shape["encrypted_content"] = draw_opaque(plan.key, "encrypted")
    return shape


def build_content(choice: Choice, item: Item, text: str, options: ResponseOptions) -> Object:
    """Return the content block of a message."""
    if item.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    found = _annotate(text, options.citations) if options.citations else []
    return {"type": "output_text", "text": text, "annotations": found, "logprobs": _build_logprobs(choice, item)}


def _annotate(text: str, citations: Sequence[Citation]) -> list[JSON]:
    """Return the citations of the files whose passages a text has, each with the index of the passage's end."""
    if not text:
        return []
    found = [(text.find(each.passage) + len(each.passage), each) for each in citations if each.passage in text]
    found = sorted(found, key=lambda pair: pair[0]) or [(len(text), citations[0])]
    return [
        {"type": "file_citation", "index": index, "file_id": each.file, "filename": each.filename}
        for index, each in found
    ]


def join_text(choice: Choice, item: Item) -> str:
    return "".join(choice.tokens[item.start : item.end])


def draw_item_id(key: bytes, item: Item, options: ResponseOptions) -> str:
    """Return ``msg_``, ``fc_``, ``ctc_`` or ``rs_`` and 48 hex digits."""
    prefix = {"tool_call": "fc", "reasoning": "rs"}.get(item.kind, "msg")
    if item.name in options.customs:
        prefix = "ctc"
    return f"{prefix}_{draw_hex(key, 'item', item.number)}{draw_hex(key, 'item', item.number, 'end', digits=16)}"


_FINISH_WITH_USAGE = Mark.FINISH | Mark.USAGE


class _EventEncoder:
    """Encoder of one stream's numbered events."""

    def __init__(self, plan: Plan, options: ResponseOptions) -> None:
        self.plan = plan
        self.choice = plan.choices[0]
        self.options = options
        self._number = 0

    def event(self, due: float, tokens: int, kind: str, fields: Object, mark: Mark = PLAIN) -> Event:
        data = encode_event({"type": kind, "sequence_number": self._number, **fields})
        self._number += 1
        return due, self._name(kind) + data, tokens, mark

    def deltas(self, kind: str, location: Object, item: Item, tail: bytes = b"") -> Iterator[Event]:
        """Yield one event a token from a template; a token without text has none."""
        before = b'%bdata: {"type":"%b","sequence_number":' % (self._name(kind), kind.encode())
        after = b"," + dump_json(location)[1:-1] + b',"delta":'
        template = before + b"%d" + after + b"%b" + tail + b"%b}\n\n"  # the emulator's own texts contain no %
        tokens, due, number = self.choice.tokens, self.choice.due, self._number
        obfuscate = self.options.obfuscate
        for position in range(item.start, item.end):
            token = tokens[position]
            if token:
                padding = b',"obfuscation":"%b"' % pad(token) if obfuscate else b""
                yield due[position], template % (number, encode_string(token), padding), position + 1, PLAIN
                number += 1
        self._number = number

    def _name(self, kind: str) -> bytes:
        return b"event: %b\n" % kind.encode() if self.options.events else b""


def stream_response(plan: Plan, options: ResponseOptions) -> Iterator[Event]:
    """Yield the created and in-progress events, all output items, and the closing event with the whole response."""
    writer = _EventEncoder(plan, options)
    choice = writer.choice
    first, last = first_due(choice), last_due(choice)
    opening = build_pending(plan, options, "in_progress")
    if options.queued:
        queued: Object = {"response": {**opening, "status": "queued"}}
        yield writer.event(0.0, 0, "response.created", queued)
        yield writer.event(0.0, 0, "response.queued", queued)
    else:
        yield writer.event(first, 0, "response.created", {"response": opening})
    yield writer.event(first, 0, "response.in_progress", {"response": opening})
    for number, search in enumerate(options.searches):
        yield from _stream_search(writer, number, _build_search(plan, search, number), first)
    for item in list_items(choice, len(options.searches)):
        yield from _stream_item(writer, item)
    whole = build_response(plan, options, usage=options.stream_usage)
    mark = _FINISH_WITH_USAGE if options.stream_usage else FINISH
    yield writer.event(last, len(choice.tokens), f"response.{find_status(plan)}", {"response": whole}, mark)
    if options.done:
        yield last, DONE, 0, Mark.DONE


def _stream_search(writer: _EventEncoder, number: int, search: Object, due: float) -> Iterator[Event]:
    """Yield the events of a file search, which takes no time of its own."""
    fresh: Object = {"id": search["id"], "type": "file_search_call", "status": "in_progress"}
    begun: Object = {**fresh, "queries": [], "results": None}
    yield writer.event(due, 0, "response.output_item.added", {"output_index": number, "item": begun})
    location: Object = {"output_index": number, "item_id": search["id"]}
    for state in ("in_progress", "searching", "completed"):
        yield writer.event(due, 0, f"response.file_search_call.{state}", location)
    yield writer.event(due, 0, "response.output_item.done", {"output_index": number, "item": search})


def _stream_item(writer: _EventEncoder, item: Item) -> Iterator[Event]:
    plan, options, choice, number = writer.plan, writer.options, writer.choice, item.number
    start, end = _find_times(choice, item)
    announced = build_item(plan, options, item, status="in_progress")
    fields: Object = {"output_index": number, "item": announced}
    yield writer.event(start, item.start, "response.output_item.added", fields)
    location: Object = {"item_id": draw_item_id(plan.key, item, options), "output_index": number}
    if item.kind == "tool_call":
        yield from _stream_call(writer, location, item)
    elif item.kind == "reasoning":
        yield from _stream_summary(writer, location, item)
    else:
        yield from _stream_content(writer, location, item)
    ended = build_item(plan, options, item, status=find_status(plan) if item.end == len(choice.tokens) else "completed")
    yield writer.event(end, item.end, "response.output_item.done", {"output_index": number, "item": ended})


def _find_times(choice: Choice, item: Item) -> tuple[float, float]:
    """Return when an item's first and last tokens are due."""
    due = choice.due
    if not len(due):
        return 0.0, 0.0
    return due[min(item.start, len(due) - 1)], due[max(item.end - 1, 0)]


def _stream_call(writer: _EventEncoder, location: Object, item: Item) -> Iterator[Event]:
    """Yield the events of a call's arguments."""
    _, end = _find_times(writer.choice, item)
    if item.name in writer.options.customs:
        yield from writer.deltas("response.custom_tool_call_input.delta", location, item)
        whole: Object = {**location, "input": join_text(writer.choice, item)}
        yield writer.event(end, item.end, "response.custom_tool_call_input.done", whole)
        return
    yield from writer.deltas("response.function_call_arguments.delta", location, item)
    done: Object = {**location, "arguments": join_text(writer.choice, item)}
    yield writer.event(end, item.end, "response.function_call_arguments.done", done)


def _stream_content(writer: _EventEncoder, location: Object, item: Item) -> Iterator[Event]:
    """Yield the events of a message's content part."""
    choice = writer.choice
    start, end = _find_times(choice, item)
    location = {**location, "content_index": 0}
    text = join_text(choice, item)
    empty = build_content(choice, replace(item, end=item.start), "", writer.options)
    yield writer.event(start, item.start, "response.content_part.added", {**location, "part": empty})
    if item.kind == "refusal":
        yield from writer.deltas("response.refusal.delta", location, item)
        yield writer.event(end, item.end, "response.refusal.done", {**location, "refusal": text})
    else:
        yield from _stream_text(writer, location, item)
        notes = _annotate(text, writer.options.citations) if writer.options.citations else []
        for number, note in enumerate(notes):
            annotated: Object = {**location, "annotation_index": number, "annotation": note}
            yield writer.event(end, item.end, "response.output_text.annotation.added", annotated)
        done: Object = {**location, "text": text, "logprobs": _build_logprobs(choice, item)}
        yield writer.event(end, item.end, "response.output_text.done", done)
    part = build_content(choice, item, text, writer.options)
    yield writer.event(end, item.end, "response.content_part.done", {**location, "part": part})


def _stream_text(writer: _EventEncoder, location: Object, item: Item) -> Iterator[Event]:
    """Yield the text of a message; with log-probabilities a token without text has an event, too."""
    choice = writer.choice
    entries = _build_logprobs(choice, item)
    if not entries:
        yield from writer.deltas("response.output_text.delta", location, item, b',"logprobs":[]')
    for position, entry in enumerate(entries, item.start):
        token = choice.tokens[position]
        fields: Object = {**location, "delta": token, "logprobs": [entry]}
        if writer.options.obfuscate:
            fields["obfuscation"] = pad(token).decode()
        yield writer.event(choice.due[position], position + 1, "response.output_text.delta", fields)


def _build_logprobs(choice: Choice, item: Item) -> list[JSON]:
    return [build_logprob(entry) for entry in (choice.logprobs or ())[item.start : item.end]]


def _stream_summary(writer: _EventEncoder, location: Object, item: Item) -> Iterator[Event]:
    """Yield the events of a reasoning item's summary, if the options show one."""
    text = join_text(writer.choice, item)
    if not writer.options.summary or not text:
        return
    start, end = _find_times(writer.choice, item)
    location = {**location, "summary_index": 0}
    empty: Object = {"type": "summary_text", "text": ""}
    yield writer.event(start, item.start, "response.reasoning_summary_part.added", {**location, "part": empty})
    yield from writer.deltas("response.reasoning_summary_text.delta", location, item)
    yield writer.event(end, item.end, "response.reasoning_summary_text.done", {**location, "text": text})
    part: Object = {"type": "summary_text", "text": text}
    yield writer.event(end, item.end, "response.reasoning_summary_part.done", {**location, "part": part})
