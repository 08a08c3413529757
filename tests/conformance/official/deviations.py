"""Deviations from the official descriptions that have a reason, by a pattern of their text.

The list must not grow without one: the description is wrong, Azure's or Databricks' dialect differs, or our answer is
incomplete.
"""

# ruff: noqa: E501 -- one pattern, one line

_AZURE = "dialect: Azure OpenAI adds what the content filter saw (Azure/azure-sdk-assets, recorded answers)"
_STORED = "description: stored completions repeat their request (OpenAI API reference, List Chat Completions)"
_TODAY = "description: the service has the field (openai-python, recorded answers)"
_NULL = "description: the service sends null for what a request left open"
_LATE = "ours: the event of a late error has only the fields that are known at that time"
_DATABRICKS = "dialect: Databricks repeats tools as they were sent"
_EMPTY = "description: an empty page has no ids"
_OLD = "description: older than the service; later fields come in all versions (openai-python, recorded answers)"
_NESTED = "description: nests the prompt's results twice (Azure/azure-sdk-assets, recorded answers)"
_CUSTOM = "description: has neither custom tools nor hosted ones, which OpenAI's models have (OpenAI API reference)"
_NO_NAME = "description: the service sends no name there (openai-python, Open Responses)"
_OVMS = "dialect: OpenVINO writes these fields alone (model_server, openai_responses.cpp)"
_ENGINE = "dialect: the model's own answer passes through Model Inference (Azure/azure-sdk-assets, recorded answers)"
_ERRORS = "dialect: errors of gateway and model server have shapes of their own (azure-sdk-assets, recorded errors)"
_MINDIE = "dialect: MindIE's fields (MindIE-LLM, single_req_triton_text_infer_interface.cpp, http_handler.cpp)"
_TGI = "description: leaves out what serde adds or wraps (text-generation-inference, router/src/lib.rs, server.rs)"
_TGI_OLD = "dialect: release 0.9.4 (text-generation-inference 0.9.4, router/src/lib.rs)"
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
    r"Create(ChatCompletionStream|Completion)Response \.usage: null, not object": (
        "description: says in words that chunks before the last have null"
    ),
    _CHUNK + r"\.choices\[\]\.delta\.tool_calls\[\]\.(custom: unknown|type: value 'custom')": _TODAY,
    _CHUNK + r"\.choices\[\]\.delta\.(audio|context|reasoning_content): unknown": _AZURE,
    r"CreateChatCompletionResponse \.choices\[\]\.message\.(context|reasoning_content): unknown": _AZURE,
    rf"(CreateChatCompletionResponse|ChatCompletionList \.data\[\]) ?\.{_ECHO}: unknown": _STORED,
    r"(ChatCompletionList|ConversationItemList|List(Files|Batches|VectorStores)Response) "
    r"\.(first_id|last_id): null, not string": _EMPTY,
    r"(ListVectorStoresResponse \.data\[\]|VectorStoreObject ?)\.description: unknown": _SHOWN,
    r"(ListVectorStoresResponse \.data\[\]|VectorStoreObject ?)\.expires_after: null, not object": _NULL,
    r"(Batch|ListBatchesResponse \.data\[\]) ?\.\w*(_at|_id|errors): null, not (integer|string|object)": _NULL,
    r"ChatCompletionMessageList \.data\[\]\.(name: unknown|refusal: missing|role: .*|content: .*)": _STORED,
    r"Response(StreamEvent)? .*(frequency_penalty|presence_penalty|store|obfuscation): unknown": _TODAY,
    r"Response(StreamEvent \.response|StreamEvent)? ?\.(output\[\]|item)\.status: unknown": _TODAY,
    r"ResponseStreamEvent \.logprobs\[\](\.top_logprobs\[\])?\.bytes: unknown": _TODAY,
    _RESPONSE + r"\.(usage: null, not object|user: null, not string)": _NULL,
    r"(azure-openai-\S+ azure )?\w*Response\w* ?(\.response)? ?\.text\.format\.description: null, not string": _NULL,
    _RESPONSE + r"\.tools\[\]\.(strict|parameters): missing": _DATABRICKS,
    r"ResponseStreamEvent \.(sequence_number|response\.\w+): missing": _LATE,
    r"ResponseStreamEvent \.name: missing": _NO_NAME,
    r"Error \.(error: unknown|(code|message|param|type): missing)": "description: names what is inside 'error'",
    r"azure-openai-\S+ azure \w+ \.error\.(code|param): null, not string": _NULL,
    r"azure-openai-v1 azure AzureErrorResponse \.error\.type: value .*": (
        "description: has the type of 500 alone (Azure/azure-sdk-assets, recorded errors)"
    ),
    r"(CreateEmbeddingResponse|azure-openai-\S+ azure (OpenAI\.CreateEmbeddingResponse|/deployments/\{deployment-id\}/embeddings:200)) \.data\[\]\.embedding: str, not array": (
        "description: leaves out encoding_format base64 (OpenAI API reference)"
    ),
    r"/audio/transcriptions:200 \.task: unknown": "description: a verbose transcript has its task (OpenAI API reference)",
    r"(ListModelsResponse \.data\[\]|Model )\.\w+: (unknown|missing)": (
        "dialect: dated versions list models as Azure's authoring API does (Azure/azure-rest-api-specs, models.json)"
    ),
    # Azure OpenAI, by version and v1
    r"azure-openai-20\S+ azure response \..*: (unknown|missing|null, not \w+)": _OLD,
    r"azure-openai-20\S+ azure /deployments/\S+/audio/transcriptions:200 \.\w+: unknown": _OLD,
    r"azure-openai-20\S+ azure (list)?[vV]ectorStore\S+ (\.data\[\])?\.(attributes: unknown|bytes: missing)": _OLD,
    r"azure-openai-\S+ azure .*(content_filter_results|prompt_filter_results|content_filters): unknown": _AZURE,
    r"azure-openai-v1 azure \w+ \.prompt_filter_results\[\]\.content_filter_results\.\w+: unknown": _NESTED,
    r"azure-openai-\S+ azure \w*reateChatCompletionStreamResponse \.object: value ''": _AZURE,
    r"azure-openai-\S+ azure .*\.(logprobs|refusal|\w+_tokens|\w+_tokens_details|obfuscation|custom|usage): unknown": _OLD,
    r"azure-openai-\S+ azure .*tool_calls\[\]\.(function: missing|type: value 'custom')": _OLD,
    r"azure-openai-v1 azure AzureResponse \.(completed_at|frequency_penalty|presence_penalty|conversation): unknown": _OLD,
    r"azure-openai-v1 azure AzureResponse \.(prompt_cache_key|safety_identifier|service_tier|store): unknown": _OLD,
    r"azure-openai-v1 azure AzureResponse \.text\.verbosity: unknown": _OLD,
    r"azure-openai-v1 azure AzureResponse \.output\[\]\.type: value 'custom_tool_call'": _OLD,
    r"azure-openai-v1 azure AzureResponse \.usage: null, not object": _NULL,
    r"azure-openai-\S+ azure \S+ (\.data\[\])?\.(expires_after: null, not object|description: unknown)": _SHOWN,
    r"azure-openai-v1 azure \S+ \.(first_id|last_id): null, not string": _EMPTY,
    r"azure-openai-v1 azure \S+ (\.data\[\])?\.purpose: value 'user_data'": _OLD,
    r"azure-openai-v1 azure /responses/\{response_id\}:200 \.object: value 'response'": (
        "description: the object of a deleted response (openai-python, recorded answers, against response.deleted)"
    ),
    r"azure-openai-v1 azure /files/\{file_id\}/content:200 \.: dict, not string": "description: bytes, here of JSON",
    r"azure-openai-v1 azure OpenAI\.ResponseStreamEvent \.sequence_number: missing": _LATE,
    # Azure Model Inference
    r"azure-inference-\S+ azure Azure\.Core\.Foundations\.ErrorResponse .*": _ERRORS,
    r"azure-inference-\S+ azure \w*ChatCompletions\w* .*(filter_results|logprobs|refusal|call_id|fingerprint): unknown": _ENGINE,
    r"azure-inference-\S+ azure \w*ChatCompletions\w* .*(reasoning_content|\w+_tokens|usage|role): unknown": _ENGINE,
    r"azure-inference-\S+ azure \w*ChatCompletions\w* .*(tool_calls|content|usage|finish_reason): null, not \w+": _NULL,
    r"azure-inference-\S+ azure \w*ChatCompletions\w* .*total_tokens: missing": _ENGINE,
    r"azure-inference-\S+ azure \w*ChatCompletions\w* \.object: value .*": _AZURE,
    r"azure-inference-\S+ azure StreamingChatCompletionsUpdate \.choices: minItems 1": _AZURE,
    r"azure-inference-\S+ azure StreamingChatCompletionsUpdate .*tool_calls\[\]\.(function|id|index|type)\b.*": _ENGINE,
    r"azure-inference-\S+ azure EmbeddingsResult .*": _ENGINE,
    r"azure-inference-\S+ azure ModelInfo \.served_model_(name|type): unknown": _ENGINE,
    # Open Responses
    r"openresponses openvino .*": _OVMS,
    r"openresponses (azure|databricks) .*(annotations\[\]|tools\[\]|output\[\])\.\w+: (missing|unknown|value .*)": _CUSTOM,
    r"openresponses (azure|databricks) /responses:200 \.(annotation|item): dict, not null": _CUSTOM,
    r"openresponses (azure|databricks) /responses:200 \.(delta: missing|input: unknown|type: value .*)": _CUSTOM,
    r"openresponses (azure|databricks) .*(content_filters|conversation|user|prompt_cache_retention): unknown": _TODAY,
    r"openresponses (azure|databricks) .*cache_write_tokens: unknown": _TODAY,
    r"openresponses (azure|databricks) .*\.text\.format\.schema: dict, not null": (
        "description: has no schema there, which the service repeats (recorded answers)"
    ),
    r"openresponses (azure|databricks) .*tool_choice: dict, not string": _CUSTOM,
    r"openresponses (azure|databricks) /responses:200 \.(sequence_number|response\.\w+): missing": _LATE,
    # the others
    r"gemini databricks GenerateContentResponse \.candidates\[\]\.content\.parts: missing": (
        "description: demands parts, of which an answer without text has none (googleapis/python-genai, recorded answers)"
    ),
    r"cohere azure /v2/rerank:200 \.results\[\]\.document: unknown": (
        "description: leaves out return_documents, which clients of that route send (litellm, cohere_transform)"
    ),
    r"kserve\S* mindie .*": _MINDIE,
    r"kserve openvino metadata_server_response \.extensions: missing": (
        "dialect: OpenVINO has no extensions there (model_server, http_rest_api_handler.cpp)"
    ),
    r"tgi tgi .*\.object: unknown": _TGI,
    r"tgi tgi Chunk \.usage: unknown": _TGI,
    r"tgi tgi ModelInfo .*": _TGI,
    r"tgi tgi SagemakerResponse \.: list, not object": _TGI,
    r"tgi tgi Info .*": _TGI_OLD,
    r"tgi tgi (Sagemaker)?StreamResponse \.(index|details\.input_length): missing": _TGI_OLD,
}
