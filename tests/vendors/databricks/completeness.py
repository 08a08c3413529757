"""Every field of the REST reference, and the test that covers it."""

_HERE = "tests/vendors/databricks"
_CHAT_CODEC = f"{_HERE}/chat/test_codec.py::"
_CHAT_MESSAGES = f"{_HERE}/chat/test_messages.py::"
_CHAT_PARSE = f"{_HERE}/chat/test_parse.py::"
_CHAT_STREAM = f"{_HERE}/chat/test_stream.py::"
_RESPONSES_CODEC = f"{_HERE}/responses/test_codec.py::"
_RESPONSES_INPUT = f"{_HERE}/responses/test_input.py::"
_RESPONSES_PARSE = f"{_HERE}/responses/test_parse.py::"
_COMPLETIONS = f"{_HERE}/test_completions.py::"
_EMBEDDINGS = f"{_HERE}/test_embeddings.py::"
_ERRORS = f"{_HERE}/test_errors.py::"
_SAMPLING = f"{_HERE}/test_sampling.py::"
_TOOLS = f"{_HERE}/test_tools.py::"


def _each(table: str, test: str, *names: str) -> dict[str, str]:
    return {f"{table}.{name}": test for name in names}


FIELDS: dict[str, str] = {
    **_each(
        "usage",
        f"{_CHAT_CODEC}test_answer_has_the_shape_of_the_reference",
        "completion_tokens",
        "prompt_tokens",
        "total_tokens",
    ),
    "usage.reasoning_tokens": f"{_CHAT_CODEC}test_gpt_oss_thinks_aloud",
    # Chat
    "chat request.messages": f"{_CHAT_MESSAGES}test_conversation",
    **_each(
        "chat request",
        f"{_CHAT_PARSE}test_refused",
        "max_tokens",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "n",
        "logprobs",
    ),
    "chat request.stop": f"{_SAMPLING}test_stop_ends_before_its_first_occurrence",
    "chat request.tool_choice": f"{_TOOLS}test_tool_choice",
    "chat request.tools": f"{_TOOLS}test_tools",
    "chat request.response_format": f"{_TOOLS}test_response_format",
    "chat request.top_logprobs": f"{_SAMPLING}test_top_logprobs_is_bounded",
    "chat request.reasoning_effort": f"{_CHAT_PARSE}test_efforts_of_each_family",
    **_each("ChatMessage", f"{_CHAT_MESSAGES}test_refused_message", "role", "content", "tool_calls", "tool_call_id"),
    **_each("ToolCall", f"{_CHAT_MESSAGES}test_refused_message", "id", "type", "function"),
    "ToolCall.cache_control": f"{_CHAT_MESSAGES}test_cache_control_of_a_call_is_for_claude",
    **_each("FunctionCallCompletion", f"{_CHAT_MESSAGES}test_refused_message", "name", "arguments"),
    **_each("ToolChoiceObject", f"{_TOOLS}test_tool_choice", "type", "function"),
    **_each("ToolObject", f"{_TOOLS}test_tools", "type", "function"),
    **_each("FunctionObject", f"{_TOOLS}test_tools", "name", "description", "parameters", "strict"),
    **_each("ResponseFormatObject", f"{_TOOLS}test_response_format", "type", "json_schema"),
    **_each("JsonSchemaObject", f"{_TOOLS}test_response_format", "name", "description", "schema", "strict"),
    **_each(
        "chat response",
        f"{_CHAT_CODEC}test_answer_has_the_shape_of_the_reference",
        "id",
        "choices",
        "object",
        "created",
        "model",
        "usage",
    ),
    **_each(
        "ChatCompletionChoice",
        f"{_CHAT_CODEC}test_answer_has_the_shape_of_the_reference",
        "index",
        "message",
        "finish_reason",
    ),
    "ChatCompletionChoice.extra_fields": f"{_CHAT_CODEC}test_external_gemini_rates_its_safety",
    **_each(
        "ChatCompletionChunk",
        f"{_CHAT_STREAM}test_stream_has_the_shape_of_the_reference",
        "index",
        "delta",
        "finish_reason",
    ),
    # Completions
    **_each(
        "completion request",
        f"{_COMPLETIONS}test_field",
        "prompt",
        "max_tokens",
        "stream",
        "temperature",
        "top_p",
        "top_k",
    ),
    "completion request.error_behavior": f"{_COMPLETIONS}test_truncate_returns_as_much_as_fits",
    "completion request.n": f"{_COMPLETIONS}test_index_is_the_position_of_the_prompt",
    "completion request.stop": f"{_COMPLETIONS}test_stop_cuts_the_text",
    **_each("completion request", f"{_COMPLETIONS}test_echo_and_suffix_go_around_the_text_for_free", "suffix", "echo"),
    "completion request.use_raw_prompt": f"{_COMPLETIONS}test_raw_prompt_has_no_template",
    **_each(
        "completion response",
        f"{_COMPLETIONS}test_answer_has_the_shape_of_the_reference",
        "id",
        "choices",
        "object",
        "created",
        "usage",
    ),
    **_each("CompletionChoice", f"{_COMPLETIONS}test_answer_has_the_shape_of_the_reference", "text", "finish_reason"),
    "CompletionChoice.index": f"{_COMPLETIONS}test_index_is_the_position_of_the_prompt",
    # Embeddings
    "embedding request.input": f"{_EMBEDDINGS}test_field",
    "embedding request.instruction": f"{_EMBEDDINGS}test_instruction_changes_the_vector_and_is_counted",
    **_each(
        "embedding response",
        f"{_EMBEDDINGS}test_answer_has_the_shape_of_the_reference",
        "id",
        "object",
        "model",
        "data",
        "usage",
    ),
    **_each(
        "EmbeddingObject", f"{_EMBEDDINGS}test_answer_has_the_shape_of_the_reference", "object", "index", "embedding"
    ),
    # Responses
    **_each(
        "responses request",
        f"{_RESPONSES_PARSE}test_field",
        "model",
        "input",
        "instructions",
        "max_output_tokens",
        "temperature",
        "top_p",
        "stream",
        "stream_options",
        "text",
        "reasoning",
        "tool_choice",
        "tools",
        "parallel_tool_calls",
        "max_tool_calls",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "user",
        "truncation",
        "top_logprobs",
        "include",
        "prompt",
        "background",
        "store",
        "conversation",
        "service_tier",
    ),
    **_each("ResponsesInput", f"{_RESPONSES_INPUT}test_item", "role", "content"),
    **_each("InputText", f"{_RESPONSES_INPUT}test_item", "type", "text"),
    **_each("OutputText", f"{_RESPONSES_INPUT}test_item", "type", "text", "annotations"),
    **_each("InputImage", f"{_RESPONSES_INPUT}test_item", "type", "image_url"),
    **_each("InputFile", f"{_RESPONSES_INPUT}test_item", "type", "file_id", "filename", "file_data"),
    **_each("FunctionCall", f"{_RESPONSES_INPUT}test_item", "type", "id", "call_id", "name", "arguments"),
    **_each("FunctionCallOutput", f"{_RESPONSES_INPUT}test_item", "type", "call_id", "output"),
    "StreamOptions.include_usage": f"{_HERE}/test_settings.py::test_switch_alone",
    "TextConfig.format": f"{_RESPONSES_PARSE}test_structured_text",
    **_each("ResponsesFormatObject", f"{_RESPONSES_PARSE}test_field", "type", "json_schema"),
    "ReasoningConfig.effort": f"{_RESPONSES_PARSE}test_effort_buys_reasoning",
    "ReasoningConfig.encrypted_content": f"{_RESPONSES_PARSE}test_field",
    **_each(
        "responses response",
        f"{_RESPONSES_CODEC}test_answer_has_the_fields_of_the_reference",
        "id",
        "object",
        "created_at",
        "status",
        "model",
        "output",
        "usage",
        "error",
        "incomplete_details",
        "instructions",
        "max_output_tokens",
        "temperature",
        "top_p",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "store",
        "metadata",
    ),
    **_each(
        "ResponsesMessage",
        f"{_RESPONSES_CODEC}test_answer_has_the_fields_of_the_reference",
        "id",
        "role",
        "content",
        "status",
        "type",
    ),
    **_each("Error", f"{_ERRORS}test_late_error_of_a_response", "code", "message", "param", "type"),
    "IncompleteDetails.reason": f"{_RESPONSES_CODEC}test_reaching_the_bound_is_incomplete",
}
