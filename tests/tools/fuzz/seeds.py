"""Sensible requests to every route that neither the goldens nor the corpus of :mod:`tests.test_fuzz` ask."""

# ruff: noqa: E501 -- one request, one line
# fmt: off

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from emulator.vendors import VENDORS
from tests.test_fuzz import CORPUS
from tests.untyped_json import JSON

Seed = tuple[str, str, JSON]

_SCHEMA: JSON = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Oslo"]}},
    "required": ["city"], "additionalProperties": False,
}
_CLAUDE: JSON = {
    "model": "databricks-claude-sonnet-4",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}
_ASKED: JSON = {
    "role": "user",
    "content": [
        {"type": "text", "text": "Where?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ],
}
_USED: JSON = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "a", "signature": "b"},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "Oslo"}},
    ],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "cold"}]}],
}
_FIND: JSON = {"name": "find", "description": "Finds", "input_schema": _SCHEMA, "cache_control": {"type": "ephemeral"}}
_MESSAGES: list[JSON] = [
    _CLAUDE,
    {
        **_CLAUDE,
        "stream": True,
        "system": [{"type": "text", "text": "Be kind."}],
        "stop_sequences": ["x"],
        "temperature": 0.5,
        "top_k": 3,
        "metadata": {"user_id": "a"},
    },
    {**_CLAUDE, "tools": [_FIND], "tool_choice": {"type": "tool", "name": "find", "disable_parallel_tool_use": True}},
    {**_CLAUDE, "messages": [_ASKED, _USED, _RESULT], "tools": [_FIND], "tool_choice": {"type": "any"}, "stream": True},
    {**_CLAUDE, "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}, "stream": True},
    {**_CLAUDE, "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": _SCHEMA}}},
]
_SAID: JSON = {"role": "user", "parts": [{"text": "Where?"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}
_CALLED: JSON = {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"city": "Oslo"}}}]}
_ANSWERED: JSON = {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"text": "cold"}}}]}
_DECLARED: JSON = [
    {
        "functionDeclarations": [
            {
                "name": "find",
                "description": "Finds",
                "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}},
            }
        ]
    }
]
_GEMINI: list[JSON] = [
    {
        "contents": [_SAID],
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 3,
            "candidateCount": 2,
            "maxOutputTokens": 9,
            "stopSequences": ["x"],
            "seed": 3,
            "responseLogprobs": True,
            "logprobs": 2,
        },
    },
    {
        "contents": [_SAID, _CALLED, _ANSWERED],
        "tools": _DECLARED,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["find"]}},
    },
    {
        "contents": {"parts": {"text": "Hi"}},
        "generation_config": {
            "response_mime_type": "application/json",
            "response_schema": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "format": "int32"}}},
            "thinking_config": {"thinking_budget": 99, "include_thoughts": True},
        },
    },
    {
        "contents": [_SAID],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": _SCHEMA},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    },
]
_SERVED: JSON = {
    "served_entities": [
        {
            "name": "a",
            "entity_name": "system.ai.x",
            "entity_version": "1",
            "workload_size": "Small",
            "scale_to_zero_enabled": True,
        }
    ],
    "traffic_config": {"routes": [{"served_model_name": "a", "traffic_percentage": 100}]},
}
_EXTERNAL: JSON = {
    "served_entities": [
        {
            "name": "b",
            "external_model": {
                "name": "gpt-4o",
                "provider": "openai",
                "task": "llm/v1/chat",
                "openai_config": {"openai_api_key_plaintext": "k"},
            },
        }
    ]
}
_LIMITS: JSON = [{"calls": 3, "key": "user", "renewal_period": "minute"}]
_GRANTS: JSON = {"access_control_list": [{"user_name": "a@example.com", "permission_level": "CAN_QUERY"}]}
_GUARDED: JSON = {
    "usage_tracking_config": {"enabled": True},
    "rate_limits": _LIMITS,
    "guardrails": {"input": {"pii": {"behavior": "BLOCK"}, "invalid_keywords": ["x"]}},
    "fallback_config": {"enabled": False},
}
_FUNCTION: JSON = {"type": "function", "name": "find", "parameters": _SCHEMA, "strict": True}
_CUSTOM: JSON = {
    "type": "custom",
    "name": "say",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a" | "b"'},
}
_INPUT: JSON = [
    {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "cold"},
]
_RESPONSES: list[JSON] = [
    {"model": "gpt-4o", "input": "Hi", "max_output_tokens": 16},
    {
        "model": "gpt-4o",
        "input": _INPUT,
        "tools": [_FUNCTION, _CUSTOM],
        "tool_choice": "required",
        "stream": True,
        "max_output_tokens": 60,
    },
    {
        "model": "gpt-5",
        "input": "Hi",
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": _SCHEMA, "strict": True}},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    },
    {
        "model": "gpt-4o",
        "input": "Hi",
        "background": True,
        "stream": True,
        "metadata": {"a": "b"},
        "instructions": "Be kind.",
        "previous_response_id": "resp_0",
    },
]
_RANK: JSON = {
    "query": "a",
    "documents": ["b", {"title": "c", "text": "d"}],
    "top_n": 1,
    "return_documents": True,
    "rank_fields": ["title"],
    "max_chunks_per_doc": 3,
}
# What a route ends with, and the bodies that it takes. The first that fits holds.
_ASKED_OF_CLAUDE: dict[str, JSON] = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
_ITEM: JSON = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
_BODIES: Sequence[tuple[str, list[JSON]]] = (
    ("/messages/batches", [{"requests": [{"custom_id": "a", "params": {"model": "claude-sonnet-4-5", **_ASKED_OF_CLAUDE}}]}]),
    ("/batches", [{"input_file_id": "file-a", "endpoint": "/chat/completions", "completion_window": "24h"}]),
    ("/{batch}/cancel", [{}]),
    ("/conversations", [{"items": [_ITEM], "metadata": {"a": "b"}}]),
    ("/{conversation}", [{"metadata": {"a": "b"}}]),
    ("/{conversation}/items", [{"items": [_ITEM]}]),
    ("/vector_stores", [{"name": "a", "expires_after": {"anchor": "last_active_at", "days": 1}, "chunking_strategy": {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}, "metadata": {"a": "b"}}]),
    ("/vector_stores/{store}", [{"name": "a", "metadata": {"a": "b"}}]),
    ("/{store}/search", [{"query": ["a", "b"], "max_num_results": 5, "filters": {"type": "and", "filters": [{"type": "in", "key": "a", "value": ["b"]}]}, "ranking_options": {"ranker": "auto", "score_threshold": 0.5}}]),
    ("/{store}/files", [{"file_id": "file-a", "attributes": {"a": 1, "b": True}, "chunking_strategy": {"type": "auto"}}]),
    ("/{store}/files/{file}", [{"attributes": {"a": "b"}}]),
    ("/{store}/file_batches", [{"files": [{"file_id": "file-a", "attributes": {"a": "b"}}]}, {"file_ids": ["file-a"]}]),
    ("/audio/speech", [{"model": "gpt-4o-mini-tts", "voice": "coral", "input": "Hi", "speed": 1.5, "response_format": "pcm", "stream_format": "sse", "instructions": "Low."}]),
    ("/audio/transcriptions", [{"model": "whisper"}]),
    ("/audio/translations", [{"model": "whisper"}]),
    ("/images/edits", [{"model": "gpt-image-1", "prompt": "A cat"}]),
    ("/files", [{"purpose": "batch"}]),
    ("/responses/compact", [{"model": "gpt-4o", "input": "Hi"}]),
    ("/messages", _MESSAGES),
    ("/messages/count_tokens", [{"model": "databricks-claude-sonnet-4", "messages": [_ASKED, _USED, _RESULT], "tools": [_FIND]}]),
    (":generateContent", _GEMINI),
    (":streamGenerateContent", _GEMINI),
    (":countTokens", [{"contents": [_SAID]}, {"generateContentRequest": {"contents": [_SAID], "tools": _DECLARED}}]),
    ("/serving-endpoints/pt", [{"name": "pt", "config": {"served_entities": [{"entity_name": "system.ai.llama_v3_3_70b_instruct", "entity_version": "1", "provisioned_model_units": 50}]}}]),
    ("/pt/{name}/config", [{"config": {"served_entities": [{"entity_name": "system.ai.llama_v3_3_70b_instruct", "entity_version": "1", "provisioned_model_units": 50}]}}]),
    ("/api/2.0/serving-endpoints", [{"name": "mine", "config": _SERVED, "tags": [{"key": "a", "value": "b"}], "rate_limits": _LIMITS, "ai_gateway": _GUARDED}, {"name": "theirs", "config": _EXTERNAL, "task": "llm/v1/chat"}]),
    ("/config", [_SERVED, _EXTERNAL]),
    ("/config:stop", [{}]),
    ("/config:start", [{}]),
    ("/ai-gateway", [_GUARDED]),
    ("/rate-limits", [{"rate_limits": _LIMITS}]),
    ("/tags", [{"add_tags": [{"key": "a", "value": "b"}], "delete_tags": ["c"]}]),
    ("/notifications", [{"email_notifications": {"on_update_success": ["a@example.com"], "on_update_failure": []}}]),
    ("/telemetry-config", [{"telemetry_config": {"table_names": {"logs_table": "a.b.c"}, "enabled": True}}]),
    ("/permissions/serving-endpoints/{id}", [_GRANTS]),
    ("/images/embeddings", [{"model": "Cohere-embed-v3-english", "input": [{"image": "data:image/png;base64,AAAA", "text": "a"}], "input_type": "document", "dimensions": 8, "encoding_format": "float"}]),
    ("/images/generations", [{"model": "gpt-image-1", "prompt": "A cat", "n": 1, "size": "1024x1024", "quality": "low", "output_format": "png", "background": "auto"}, {"model": "gpt-image-1", "prompt": "A cat", "stream": True, "partial_images": 1, "output_format": "jpeg"}, {"prompt": "A cat", "response_format": "url", "style": "vivid"}]),
    ("/responses", _RESPONSES),
    ("/responses/input_tokens", _RESPONSES),
    ("/responses/{response}/cancel", [{}]),
    ("/chat/completions/{completion}", [{"metadata": {"a": "b"}}]),
    ("/rerank", [_RANK]),
    ("/getConnectionWithCredentials", [{}]),
    ("/infer_token", [{"input_id": [1, 2, 3], "stream": False, "parameters": {"max_new_tokens": 2}}]),
    ("/unload_lora_adapter", [{"lora_name": "a"}]),
    ("/role/{role}", [{"local": {"a": [1]}, "peers": [{"id": 1}]}]),
    ("/chat_tokenize", [{"model": "tgi", "messages": [{"role": "user", "content": "Hi"}]}]),
    ("/versions/{version}/infer", [{"inputs": [{"name": "a", "shape": [1], "datatype": "FP32", "data": [1.0]}]}]),
    ("/v3/", [{"model": "llama3", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}]),
)  # fmt: skip
_NAMES: Mapping[str, Mapping[str, str]] = {
    "databricks": {"name": "databricks-gemini-2-5-flash", "served": "databricks-gemini-2-5-flash", "workspace": "1"},
    "azure": {"prefix": "openai/v1", "deployment": "gpt-4o", "response": "resp_0", "completion": "chatcmpl-0", "store": "vs_handbook"},
    "mindie": {"model": "llama_65b", "role": "prefill"},
    "tgi": {},
    "openvino": {"name": "llama3", "id": "llama3", "version": "1"},
}
_PREFIXES = {"/messages": "anthropic/v1", "/count_tokens": "anthropic/v1", "/rerank": "v2"}  # of Azure's routes
_MODELS = {  # where that of the table is not there
    "azure": (("count_tokens", "claude-sonnet-4-5"), ("}/messages", "claude-sonnet-4-5")),
    "databricks": (("/responses", "databricks-gpt-5"),),
    "openvino": (("/rerank", "rerank"),),
}
_WITH_BODY = ("POST", "PUT", "PATCH")


def list_more(vendor: str) -> Iterator[Seed]:
    """For every route of a vendor that takes a body what this table has for it, and every other route as it is."""
    for endpoint in VENDORS[vendor].endpoints:
        path = endpoint.path
        if path.endswith("/") and path.count("/") > 2:
            continue  # the same as without
        target = _fill(vendor, path)
        if endpoint.method not in _WITH_BODY:
            yield endpoint.method, target, None
        for body in find_bodies(vendor, path) if endpoint.method in _WITH_BODY else ():
            yield endpoint.method, target, body


def find_bodies(vendor: str, path: str) -> Sequence[JSON]:
    """What a route takes, of a model that is there; the corpus has the usual ones."""
    listed = next((bodies for end, bodies in _BODIES if path.endswith(end)), None)
    if listed is not None:
        model = next((model for kind, model in _MODELS.get(vendor, ()) if kind in path), None)
        return [{**body, "model": model} if model else body for body in listed]
    last = path.rstrip("/").rpartition("/")[2]
    return [body for _, target, body in CORPUS[vendor] if target.partition("?")[0].endswith(f"/{last}")][:2]


def _fill(vendor: str, path: str) -> str:
    """The route with a name in each of its places."""
    prefix = next((prefix for end, prefix in _PREFIXES.items() if path.endswith(end)), None)
    names = {**_NAMES[vendor], **({"prefix": prefix} if prefix else {}), **({"name": "mine"} if "/api/" in path else {})}
    target = re.sub(r"\{(\w+)(?::path)?\}", lambda found: names.get(found[1], "a"), path)
    return f"{target}?api-version=2024-05-01-preview" if vendor == "azure" and "{" not in path else target
