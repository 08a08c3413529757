"""Deviations of answers from the clients' types that have a reason.

Each is a pattern of ``language target call place: kind``.

The list must not grow without one: the type is wrong, the vendor's dialect differs, or our answer is incomplete.
"""

import re

_AZURE = "dialect: Azure OpenAI adds what the content filter saw (Azure/azure-sdk-assets, recorded answers)"
_AZURE_ERROR = "dialect: Azure's errors of a missing deployment have a code and a message (recorded answers)"
_AZURE_FILTER = "dialect: Azure's errors of filtered prompts say what was filtered (recorded answers)"
_AZURE_MODELS = "dialect: models of api-versions (learn.microsoft.com, Azure OpenAI Models - List)"
_AZURE_SOUND = "dialect: Azure's verbose transcripts have the task (Azure/azure-rest-api-specs, OpenAI inference)"
_STORED = "types: stored completions repeat their request (OpenAI API reference, List Chat Completions)"
_TODAY = "types: the service has the field (openai-python, recorded answers)"
_NULL = "types: the service sends null for what a request left open"
_SHOWN = "types: the service has the field (OpenAI API reference, sample answers)"
_COMPACTED = "types: a compacted response keeps the user's messages (OpenAI API reference, Compact a response)"
_SDK = "types: the client itself adds output_text to whole responses"
_OLDER = "client: a release of before; its types lack or have what today's have or lack"
_NEWER = "types: newer than every recorded answer; null by the types' description"
_LEFT_OUT = "types: the service leaves out what is null (recorded answers of claude-opus-4-8)"
_DATABRICKS = "dialect: Databricks (docs.databricks.com, Foundation Models REST API; recorded answers)"
_MINDIE = "dialect: MindIE (MindIE-LLM, http_wrapper)"
_TGI = "dialect: TGI (text-generation-inference, router/src/lib.rs)"
_OPENVINO = "dialect: OVMS (model_server, src/llm/apis)"

_CHATS = r"chat\.completions\.(create|list|retrieve|update)\*?"
_ECHO = (
    r"\.(frequency_penalty|presence_penalty|input_user|request_id|response_format|seed|temperature|tool_choice|tools"
    r"|top_p)"
)
_RESPONSE = r"\w+ (azure|azure dated|databricks|openvino) responses\.\w+\*? (\.response)?"
_CLAUDE = r"(go|node) (azure|databricks) claude( batches)? messages\.[\w.]+\*? \S*"
KNOWN: dict[str, str] = {
    # Azure OpenAI
    rf"\w+ azure( dated)? ({_CHATS}|completions\.create|images\.\w+) \S*_filter_results: unknown": _AZURE,
    _RESPONSE + r"\.content_filters: unknown": _AZURE,
    r"(go|node|python) azure( dated)? chat\.completions\.create\* \.object: misfit": _AZURE,
    r"\w+ azure( dated)? chat\.completions\.create \.(type|param): missing": _AZURE_ERROR,
    r"\w+ azure( dated)? chat\.completions\.create \.(innererror: unknown|status: unknown|type: null)": _AZURE_FILTER,
    r"\w+ azure dated models\.\w+ \.(capabilities|created_at|deprecation|lifecycle_status|status): unknown": (
        _AZURE_MODELS
    ),
    r"\w+ azure dated models\.\w+ \.(created|owned_by): missing": _AZURE_MODELS,
    r"\w+ azure( dated)? audio\.transcriptions\.create \.task: unknown": _AZURE_SOUND,
    r"go azure( dated)? audio\.transcriptions\.create \.(duration|segments): unknown": (
        "types: the union lacks transcripts with speakers"
    ),
    # stored answers
    rf"\w+ azure( dated)? chat\.completions\.(list|retrieve|update) {_ECHO}: unknown": _STORED,
    r"\w+ azure chat\.completions\.messages\.list \.(name: unknown|refusal: missing|role: misfit)": _STORED,
    r"(go|node) azure( dated| batches)? batches\.\w+ \.\w*(_at|_id|errors): null": _NULL,
    r"\w+ azure( dated)? vector_stores\.\w+ \.description: unknown": _SHOWN,
    r"(go|node) azure( dated)? vector_stores\.\w+ \.expires_after: null": _NULL,
    # responses
    _RESPONSE + r"\.(frequency_penalty|presence_penalty|store): unknown": _TODAY,
    r"\w+ azure( dated)? (responses|chat\.completions)\.create\* \.obfuscation: unknown": _TODAY,
    r"\w+ azure( dated)? responses\.create\* \.logprobs\[\](\.top_logprobs\[\])?\.bytes: unknown": _TODAY,
    r"(go|node) \w+( dated)? responses\.\w+\*? (\.response)?\.(usage|user): null": _NULL,
    r"\w+ azure responses\.compact \.output\[\](\.role|\.content\[\](\.type|\.annotations)?): (misfit|missing)": (
        _COMPACTED
    ),
    r"(go|node) azure( dated)? responses\.\w+\*? (\.response)?\.text\.format\.description: null": _NULL,
    r"node \w+( dated)? responses\.\w+\*? (\.response)?\.output_text: missing": _SDK,
    r"(go|node) \w+( dated)? responses\.\w+\*? (\.response)?\.access_programs: missing": _NEWER,
    # completions
    r"(java|node|python) \w+( dated)? completions\.create\* \.choices\[\]\.finish_reason: null": _NULL,
    # Anthropic's API
    _CLAUDE + r"\.(container|citations|server_tool_use|speed): missing": _LEFT_OUT,
    _CLAUDE + r"\.message\.usage\.output_tokens_details: missing": _LEFT_OUT,
    _CLAUDE + r"\.diagnostics: missing": _NEWER,
    r"python \w+ claude models\.\w+ \.(deprecated_at|lifecycle|line|retires_at): unknown": _OLDER,
    r"java databricks claude messages\.create\*? (\.message)?\.model: misfit": _DATABRICKS,
    # Databricks
    rf"\w+ databricks {_CHATS} \.usage\.(cache_\w+_input_tokens|reasoning_tokens): unknown": _DATABRICKS,
    r"\w+ databricks chat\.completions\.create\* \.usage\.(completion|total)_tokens: null": _DATABRICKS,
    rf"(go|node) databricks {_CHATS} \.choices\[\]\.(logprobs|message)\.refusal: missing": _DATABRICKS,
    r"(go|node) databricks chat\.completions\.create \.choices\[\]\.message\.annotations: null": _DATABRICKS,
    r"\w+ databricks embeddings\.create \.id: unknown": _DATABRICKS,
    r"\w+ databricks (chat\.completions|responses)\.create \.(code|message|param|type): missing": _DATABRICKS,
    r"\w+ databricks (chat\.completions|responses)\.create \.error_code: unknown": _DATABRICKS,
    # MindIE, TGI, OVMS
    rf"(go|node) (mindie|tgi|openvino) {_CHATS} \.choices\[\]\.(logprobs|message)\.refusal: missing": (
        "dialect: MindIE, TGI and OVMS have no refusals"
    ),
    r"\w+ (mindie|tgi|openvino) chat\.completions\.create \.: misfit": "dialect: the error is text",
    r"\w+ mindie completions\.create\*? \.choices\[\]\.stop_reason: unknown": _MINDIE,
    r"\w+ tgi completions\.create\* \.choices\[\]\.finish_reason: misfit": _TGI,
    rf"(go|node) tgi {_CHATS} \.choices\[\]\.logprobs\.content\[\](\.top_logprobs\[\])?\.bytes: missing": _TGI,
    r"(go|node) tgi chat\.completions\.create \.choices\[\]\.message\.content: missing": _TGI,
    r"\w+ tgi chat\.completions\.create \.choices\[\]\.message\.tool_calls\[\]\.function\.description: unknown": _TGI,
    r"(go|node) tgi chat\.completions\.create\* \.choices\[\]\.delta\.tool_calls\[\]\.function\.name: null": _TGI,
    r"\w+ openvino (chat\.)?completions\.create\*? \.(id: missing|object: misfit)": _OPENVINO,
    r"(go|node) openvino completions\.create\* \.choices\[\]\.logprobs: missing": _OPENVINO,
    r"\w+ openvino responses\.create\*? (\.response)?\.(instructions|temperature|top_p|incomplete_details): missing": (
        _OPENVINO
    ),
    r"\w+ openvino responses\.create\*? (\.response)?\.usage\.(in|out)put_tokens_details: missing": _OPENVINO,
    r"\w+ openvino responses\.create\*? (\.response)?\.incomplete_details\.reason: misfit": _OPENVINO,
    r"\w+ openvino responses\.create\* \.logprobs: missing": _OPENVINO,
    r"\w+ openvino embeddings\.create \.model: missing": _OPENVINO,
}


def find_pattern(deviation: str) -> str | None:
    """Return the pattern that knows a deviation."""
    return next((pattern for pattern in KNOWN if re.fullmatch(pattern, deviation)), None)
