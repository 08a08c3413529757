"""How many tokens a model reads: text, chat template, tools and media."""

from functools import lru_cache

from emulator.core.call import Ask, ChatAsk, CompletionAsk, Message
from emulator.core.json import dump_text
from emulator.core.tokenizer import Tokenizer
from emulator.engine.tokenizer import PROFILES

_LONGEST_KEPT = 8192  # characters of a text whose count is remembered
MEDIA_TOKENS = 18  # one picture, sound or film: a start, sixteen placeholders, an end


def count_prompt(ask: Ask, tokenizer: Tokenizer, profile: str) -> tuple[int, ...]:
    """Tokens of each prompt or input, template and special tokens included; one number for a chat."""
    template = PROFILES[profile]
    if isinstance(ask, ChatAsk):
        count = template.template_base + template.template_per_message * len(ask.messages)
        for message in ask.messages[:-1]:  # every later turn sends the earlier ones again
            count += _count_again(message.text, tokenizer) + _count_beside(message, tokenizer)
        for message in ask.messages[-1:]:
            count += tokenizer.count(message.text) + _count_beside(message, tokenizer)
        return (count + _count_tools(ask, tokenizer) if ask.tools else count,)
    if isinstance(ask, CompletionAsk):
        extra = template.per_text if ask.raw else template.template_base + template.template_per_message
        return tuple(_count(prompt, tokenizer) + extra + ask.media * MEDIA_TOKENS for prompt in ask.prompts)
    instruction = tokenizer.count(ask.instruction) if ask.instruction else 0
    return tuple(_count(text, tokenizer) + template.per_text + instruction for text in ask.inputs)


def _count(prompt: str | tuple[int, ...], tokenizer: Tokenizer) -> int:
    return tokenizer.count(prompt) if isinstance(prompt, str) else len(prompt)


def _count_beside(message: Message, tokenizer: Tokenizer) -> int:
    """What a message holds beside its text."""
    count = message.media * MEDIA_TOKENS
    for call in message.tool_calls:
        count += tokenizer.count(call.name) + tokenizer.count(call.arguments) + 8
    return count


def _count_tools(ask: ChatAsk, tokenizer: Tokenizer) -> int:
    offered = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in ask.tools]
    return _count_again(dump_text(offered), tokenizer) + 12


def _count_again(text: str, tokenizer: Tokenizer) -> int:
    """The count of a text that calls of one conversation have in common."""
    if len(text) > _LONGEST_KEPT:
        return tokenizer.count(text)
    return _recall(text, tokenizer)  # type: ignore[arg-type]  # mypy takes no protocol for hashable


@lru_cache(maxsize=1024)
def _recall(text: str, tokenizer: Tokenizer) -> int:
    return tokenizer.count(text)
