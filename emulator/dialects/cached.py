"""What of a prompt a cache holds, as OpenAI's models tell it wherever they are hosted.

Sources: platform.openai.com, "Prompt caching"; learn.microsoft.com, "Prompt caching with Azure OpenAI".
"""

from dataclasses import replace

from emulator.core.plan import Plan

LEAST = 1024
"""Tokens of the shortest prompt that is remembered."""
_BLOCK = 128  # tokens


def count_blocks(plan: Plan, attempt: int) -> Plan:
    """The plan of a long prompt that was asked before, which is then read from a cache, by whole blocks."""
    usage = plan.usage
    if not attempt or usage.prompt_tokens < LEAST:
        return plan
    return replace(plan, usage=replace(usage, cached_tokens=usage.prompt_tokens // _BLOCK * _BLOCK))
