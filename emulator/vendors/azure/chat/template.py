"""Encode plain text responses from one cached byte template per deployment."""

from __future__ import annotations

from emulator.core.cache import scenario_lru
from emulator.core.json import dump_json, dump_string
from emulator.core.plan import Plan
from emulator.encoding.sse import encode_string
from emulator.vendors.azure.chat.shapes import ANSWER_HARMS, build_prompt_results, draw_answer_id
from emulator.vendors.azure.profile import DeploymentProfile

_ANSWER_RESULTS = b'"content_filter_results":%b,' % dump_json(ANSWER_HARMS)
PROMPT_RESULTS = b'"prompt_filter_results":%b,' % dump_json(build_prompt_results(1))
_SEED = (
    b'{"id":"%%b","model":%b,"choices":[{"index":0,"finish_reason":"%%b","message":{"role":"assistant","content":%%b}}]'
    b',"created":%%d,"object":"chat.completion","usage":{"prompt_tokens":%%d,"completion_tokens":%%d,"total_tokens":%%d}'
    b',"system_fingerprint":"%b"}'
)
_SERVERLESS = (
    b'{"choices":[{"finish_reason":"%%b","index":0,"message":{"content":%%b,"role":"assistant","tool_calls":null}}],'
    b'"created":%%d,"id":"%%b","model":%b,"object":"chat.completion",'
    b'"usage":{"completion_tokens":%%d,"prompt_tokens":%%d,"total_tokens":%%d}}'
)
_OPENAI = (
    b'{"choices":[{%b"finish_reason":"%%b","index":0,"logprobs":null,'
    b'"message":{"content":%%b,"refusal":null,"role":"assistant"}}],'
    b'"created":%%d,"id":"%%b","model":%b,"object":"chat.completion",%b"system_fingerprint":"%b",'
    b'"usage":{"completion_tokens":%%d,"completion_tokens_details":{"accepted_prediction_tokens":0,"audio_tokens":0,'
    b'"reasoning_tokens":%%d,"rejected_prediction_tokens":0},"prompt_tokens":%%d,'
    b'"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":%%d},"total_tokens":%%d}}'
)


def encode_plain(plan: Plan, profile: DeploymentProfile) -> bytes:
    """Encode a response in the form of the profile and the model."""
    template = _build_template(profile)
    usage = plan.usage
    choice = plan.choices[0]
    text, finish, created = dump_string(choice.sequence.text), choice.finish_reason.encode(), int(plan.created)
    prompt, completion, total = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
    id = draw_answer_id(plan, openai=profile.openai).encode()
    if profile.openai:
        thought, cached = usage.reasoning_tokens, usage.cached_tokens
        return template % (finish, text, created, id, completion, thought, prompt, cached, total)
    if profile.dialect == "seed":
        return template % (id, finish, text, created, prompt, completion, total)
    return template % (finish, text, created, id, completion, prompt, total)


@scenario_lru
def _build_template(profile: DeploymentProfile) -> bytes:
    model, fingerprint = encode_string(profile.model).replace(b"%", b"%%"), profile.fingerprint.encode()
    if profile.openai:
        answer, prompt = (_ANSWER_RESULTS, PROMPT_RESULTS) if profile.filtered else (b"", b"")
        return _OPENAI % (answer, model, prompt, fingerprint)
    return _SEED % (model, fingerprint) if profile.dialect == "seed" else _SERVERLESS % model
