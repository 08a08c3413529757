"""Ten scenarios, each the situation that shows one flaw, and which rules each program breaks on which."""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.flaws.application import AT_ONCE, TOKENS

BUDGET = 3 * TOKENS
_TIDES = "when: {prompt: 'What are tides?'}"
_LAST = "when: {prompt: 'What is it called?'}"
_PAGES = "when: {prompt: {contains: Summarise page}}"
_TOOL = "when: {tools: search, messages.last.role: user}"
_ARGUMENTS = "{tool_calls: [{name: search, arguments: {query: tides}}]}"
_MODEL = "deployments: [{vendor: tgi, name: mistralai/Mistral-7B-Instruct-v0.2, traits: {alternates: false}}]\n"
_TEXT = "{template: true, text: 'To {prompt} there is a long answer, with more words in it than anyone may have here.'}"
_ANSWERS = f"""
- {{name: the tool is called, {_TOOL}, reply: {_ARGUMENTS}}}
- {{name: answers, reply: {_TEXT}}}
"""

STAGES: Mapping[str, str] = {
    "content filter": f"""
rules:
- {{name: stage, {_LAST}, error: {{kind: content_filter}}}}
""",
    "throttled": f"""
rules:
- {{name: stage, {_LAST}, times: {{first: 1}}, error: {{kind: rate_limited, retry_after: 4s}}}}
""",
    "cut": f"""
rules:
- {{name: stage, {_TIDES}, times: {{first: 1}}, reply: {_TEXT}, faults: [{{type: truncate, after_tokens: 8}}]}}
""",
    "hanging": f"""
expect: {{deadline: 10s}}
rules:
- {{name: stage, {_TIDES}, times: {{first: 1}}, reply: {_TEXT}, faults: [{{type: hang, for: 14s}}]}}
""",
    "no usage": f"""
budget: {{output_tokens: {BUDGET}}}
rules:
- {{name: stage, when: {{prompt: {{contains: e}}}}, reply: {_TEXT}, faults: [{{type: drop, field: usage}}]}}
""",
    "broken off": f"""
rules:
- {{name: stage, {_TIDES}, times: {{first: 1}}, reply: {_TEXT}, faults: [{{type: disconnect, after_tokens: 8}}]}}
""",
    "refused together": f"""
rules:
- {{name: stage, {_PAGES}, times: {{first: {AT_ONCE}}}, error: {{kind: internal}}}}
""",
    "long": f"""
expect: {{closes_within: 1500ms}}
rules:
- {{name: stage, when: {{prompt: Write a novel.}}, reply: {_TEXT}, latency: {{itl: 500ms}}}}
""",
    "busy": f"""
expect: {{concurrency: {AT_ONCE}}}
rules:
- {{name: stage, {_PAGES}, reply: {_TEXT}, latency: {{ttft: 3s}}}}
""",
    "bad arguments": f"""
rules:
- {{name: stage, {_TOOL}, reply: {_ARGUMENTS}, faults: [{{type: bad_arguments}}]}}
""",
}

RULES: Mapping[str, tuple[str, str]] = {
    "retries a content filter": ("content filter", "no_useless_retry"),
    "ignores Retry-After": ("throttled", "honours_retry_after"),
    "takes a cut stream for whole": ("cut", "incomplete_stream_failed"),
    "hangs": ("hanging", "deadline"),
    "loses usage": ("no usage", "stops_at_budget"),
    "asks again after delivery": ("broken off", "no_retry_after_delivery"),
    "no jitter": ("refused together", "jitter"),
    "leaks streams": ("long", "closes_within"),
    "unbounded concurrency": ("busy", "concurrency"),
    "acts on bad arguments": ("bad arguments", "no_bad_arguments"),
}
"""The stage of each flaw, and the rule that finds it."""

ALSO = {("asks again after delivery", "cut"): "no_retry_after_delivery"}
"""Where a flaw shows on the stage of another."""


def write_stage(name: str) -> str:
    """Return the scenario of a stage."""
    return f"version: 1\nname: {name}\n{_MODEL}{STAGES[name].strip()}{_ANSWERS}"
