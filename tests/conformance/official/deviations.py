"""Deviations from the official descriptions that have a reason, by a pattern of their text.

The list must not grow without one: the description is wrong, Azure's or Databricks' dialect differs, or our answer is
incomplete.
"""

_AZURE = "dialect: Azure OpenAI adds what the content filter saw (Azure/azure-sdk-assets, recorded answers)"
_STORED = "description: stored completions repeat their request (OpenAI API reference, List Chat Completions)"
_TODAY = "description: the service has the field (openai-python, recorded answers)"
_NULL = "description: the service sends null for what a request left open"
_LATE = "ours: the event of a late error has only the fields that are known at that time"
_DATABRICKS = "dialect: Databricks repeats tools as they were sent"
_EMPTY = "description: an empty page has no ids"
_SHOWN = "description: the service has the field (OpenAI API reference, Create vector store, sample answer)"

_CHUNK = r"CreateChatCompletionStreamResponse "
_ECHO = (
    r"(frequency_penalty|presence_penalty|input_user|request_id|response_format|seed|temperature|tool_choice|tools|top_p"
    r"|metadata)"
)
_RESPONSE = r"Response(StreamEvent \.response)? ?"
KNOWN: dict[str, str] = {
    r"\w+ .*(content_filter_results|prompt_filter_results|content_filters): unknown": _AZURE,
    _CHUNK + r"\.object: value ''": _AZURE,
    _CHUNK + r"\.choices\[\]\.finish_reason: value None": _NULL,
    _CHUNK + r"\.choices\[\]\.delta\.tool_calls\[\]\.(custom: unknown|type: value 'custom')": _TODAY,
    _CHUNK + r"\.choices\[\]\.delta\.(audio|context|reasoning_content): unknown": _AZURE,
    r"CreateChatCompletionResponse \.choices\[\]\.message\.(context|reasoning_content): unknown": _AZURE,
    rf"(CreateChatCompletionResponse|ChatCompletionList \.data\[\]) ?\.{_ECHO}: unknown": _STORED,
    r"(ChatCompletionList|List(Files|Batches|VectorStores)Response) \.(first_id|last_id): null, not string": _EMPTY,
    r"(ListVectorStoresResponse \.data\[\]|VectorStoreObject ?)\.description: unknown": _SHOWN,
    r"(ListVectorStoresResponse \.data\[\]|VectorStoreObject ?)\.expires_after: null, not object": _NULL,
    r"(Batch|ListBatchesResponse \.data\[\]) ?\.\w*(_at|_id|errors): null, not (integer|string|object)": _NULL,
    r"ChatCompletionMessageList \.data\[\]\.(name: unknown|refusal: missing|role: .*|content: .*)": _STORED,
    r"Response(StreamEvent)? .*(frequency_penalty|presence_penalty|store|obfuscation): unknown": _TODAY,
    r"Response(StreamEvent \.response|StreamEvent)? ?\.(output\[\]|item)\.status: unknown": _TODAY,
    r"ResponseStreamEvent \.logprobs\[\](\.top_logprobs\[\])?\.bytes: unknown": _TODAY,
    _RESPONSE + r"\.(usage: null, not object|user: null, not string)": _NULL,
    _RESPONSE + r"\.tools\[\]\.strict: missing": _DATABRICKS,
    r"ResponseStreamEvent \.(sequence_number|response\.\w+): missing": _LATE,
}
