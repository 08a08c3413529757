"""Count the tokens of a request's prompt: text, chat template, tools and media.

Vendors call it as ``service.count_prompt``. Quotas, context limits and ``usage`` count by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.json import JSON, Object, dump_text
from emulator.core.requests import ChatRequest, CompletionRequest, InferenceRequest, Message, Tool
from emulator.core.vendor import Tokenizer
from emulator.generation.language import judge_language

if TYPE_CHECKING:
    from emulator.generation.tokenizer import AnyTokenizer
    from emulator.generation.vocabulary_files import VocabularyTokenizer

_MAX_COUNTED = 1024**2  # characters that are tokenized
_MAX_CACHED = 8192  # characters of a text with a cached count
MEDIA_TOKENS = 18  # one picture, sound or film: a start, sixteen placeholders, an end


def count_prompt(request: InferenceRequest, tokenizer: AnyTokenizer) -> tuple[int, ...]:
    """Return the tokens of each prompt or input, template and special tokens included; one number for a chat."""
    if isinstance(request, ChatRequest):
        return (count_chat(request.messages, request.tools, tokenizer)[0],)
    template = tokenizer.profile
    if isinstance(request, CompletionRequest):
        extra = template.per_text if request.raw else template.template_base + template.template_per_message
        return tuple(_count(prompt, tokenizer) + extra + request.media * MEDIA_TOKENS for prompt in request.prompts)
    instruction = tokenizer.count(request.instruction) if request.instruction else 0
    return tuple(_count(text, tokenizer) + template.per_text + instruction for text in request.inputs)


def count_chat(messages: Sequence[Message], tools: Sequence[Tool], tokenizer: AnyTokenizer) -> tuple[int, str]:
    """Return the tokens of a conversation, template and special tokens included, and the locale of its last message.

    The locale is empty unless all messages are text and the last is a user's.
    """
    if tokenizer.render is not None:
        with suppress(Exception):  # a template may refuse the conversation, which the vendor judges
            return _count_rendered(messages, tools, tokenizer), ""
    template = tokenizer.profile
    count = template.template_base + template.template_per_message * len(messages)
    language = ""
    is_text = True
    last = messages[-1] if messages else None
    for message in messages:
        text = message.text
        if message.media or message.tool_calls or message.tool_call_id:
            is_text = False
            count += _count_beside(message, tokenizer)
        if message is not last:  # every later turn sends the earlier ones again
            count += _count_again(text, tokenizer)
        elif is_text and message.role == "user" and len(text) <= _MAX_COUNTED:
            tokens, leaning = tokenizer.count_and_lean(text)
            count += tokens
            language = judge_language(text, leaning)
        else:
            count += _count_text(text, tokenizer)
    return count + _count_tools(tools, tokenizer) if tools else count, language


def count_parts(parts: Sequence[str], last: str, media: int, tokenizer: AnyTokenizer) -> tuple[int, str]:
    """Return the tokens of a rendered conversation without its special tokens, and the locale of its last message.

    Args:
        parts: texts between the special tokens.
        last: text of the last message, if the last part has it and little besides; empty: its locale is not sought.
        media: number of pictures.
    """
    count = media * MEDIA_TOKENS
    for part in parts[:-1]:  # every later turn sends the earlier ones again
        count += _count_again(part, tokenizer)
    if not parts:
        return count, ""
    part = parts[-1]
    if not last or len(part) > _MAX_COUNTED:
        return count + _count_text(part, tokenizer), ""
    tokens, leaning = tokenizer.count_and_lean(part)
    return count + tokens, judge_language(last, leaning)


def _count_rendered(messages: Sequence[Message], tools: Sequence[Tool], tokenizer: VocabularyTokenizer) -> int:
    """Return the tokens of a conversation in the model's chat template, and of its media."""
    count = tokenizer.count_rendered(
        {
            "messages": [_to_template(message) for message in messages],
            "tools": [{"type": "function", "function": _to_function(tool)} for tool in tools] or None,
            "add_generation_prompt": True,
        }
    )
    return count + sum(message.media for message in messages) * MEDIA_TOKENS


def _to_template(message: Message) -> JSON:
    calls: JSON = [
        {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    given: Object = {"role": message.role, "content": message.text}
    if calls:
        given["tool_calls"] = calls
    return given


def _to_function(tool: Tool) -> Object:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _count(prompt: str | tuple[int, ...], tokenizer: Tokenizer) -> int:
    return _count_text(prompt, tokenizer) if isinstance(prompt, str) else len(prompt)


def _count_text(text: str, tokenizer: Tokenizer) -> int:
    """Return the tokens of a text; a text longer than any context is extrapolated from its beginning."""
    if len(text) <= _MAX_COUNTED:
        return tokenizer.count(text)
    return tokenizer.count(text[:_MAX_COUNTED]) * len(text) // _MAX_COUNTED


def _count_beside(message: Message, tokenizer: Tokenizer) -> int:
    """Return the tokens of a message's media and tool calls."""
    count = message.media * MEDIA_TOKENS
    for call in message.tool_calls:
        count += tokenizer.count(call.name) + tokenizer.count(call.arguments) + 8
    return count


def _count_tools(tools: Sequence[Tool], tokenizer: Tokenizer) -> int:
    return _count_again(dump_text([_to_function(tool) for tool in tools]), tokenizer) + 12


def _count_again(text: str, tokenizer: Tokenizer) -> int:
    """Return the cached count of a text, as calls of one conversation repeat their messages."""
    if len(text) > _MAX_CACHED:
        return _count_text(text, tokenizer)
    return _recall(text, tokenizer)  # type: ignore[arg-type]  # mypy takes no protocol for hashable


@lru(1024, stats="texts")
def _recall(text: str, tokenizer: Tokenizer) -> int:
    return tokenizer.count(text)
