"""Every row of the chat endpoint's tables, and the test that covers it."""

_FIELDS = "tests/vendors/openvino/text/test_fields.py::"
_SAMPLING = "tests/vendors/openvino/test_sampling.py::"
_MESSAGES = "tests/vendors/openvino/text/test_messages.py::"
_RENDER = "tests/vendors/openvino/text/test_codec.py::"
_STREAM = "tests/vendors/openvino/text/test_stream.py::"
_FRONT = "tests/vendors/openvino/test_request.py::"
_IGNORED = "test_unsupported_fields_are_passed_over"

_UNSUPPORTED = """
    logit_bias top_logprobs response_format tools tool_choice user function_call functions min_p use_beam_search
    early_stopping stop_token_ids min_tokens prompt_logprobs detokenize skip_special_tokens
    spaces_between_special_tokens logits_processors truncate_prompt_tokens
"""

FIELDS: dict[str, str] = {
    "chat request.model": _FRONT + "test_body",
    "chat request.stop": _SAMPLING + "test_stop",
    "chat request.stream": _FRONT + "test_body",
    "chat request.stream_options": _FIELDS + "test_field_of_a_stream",
    "chat request.stream_options.include_usage": _STREAM + "test_usage_goes_out_with_the_last_chunk_and_the_end",
    "chat request.messages": _MESSAGES + "test_message",
    "chat request.max_tokens": _SAMPLING + "test_most_tokens",
    "chat request.ignore_eos": _SAMPLING + "test_most_tokens",
    "chat request.include_stop_str_in_output": _SAMPLING + "test_stop",
    "chat request.logprobs": _RENDER + "test_chat_logprobs",
    "chat request.n": _SAMPLING + "test_choices",
    "chat request.best_of": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.diversity_penalty": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.length_penalty": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.temperature": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.top_p": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.top_k": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.repetition_penalty": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.frequency_penalty": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.presence_penalty": _SAMPLING + "test_what_the_text_depends_on",
    "chat request.seed": _SAMPLING + "test_defaults",
    "chat request.num_assistant_tokens": _FIELDS + "test_speculative_graph",
    "chat request.assistant_confidence_threshold": _FIELDS + "test_speculative_graph",
    **{f"chat request, unsupported.{name}": f"{_FIELDS}{_IGNORED}" for name in _UNSUPPORTED.split()},
    "chat response.choices": _RENDER + "test_chat",
    "chat response.choices.index": _RENDER + "test_chat",
    "chat response.choices.message": _RENDER + "test_chat",
    "chat response.choices.message.role": _RENDER + "test_chat",
    "chat response.choices.message.content": _RENDER + "test_chat",
    "chat response.choices.delta": _STREAM + "test_2025_0",
    "chat response.choices.finish_reason": _STREAM + "test_finish_reason_length_and_only_at_the_end",
    "chat response.choices.logprobs": _RENDER + "test_chat_logprobs",
    "chat response.created": _RENDER + "test_chat",
    "chat response.model": _RENDER + "test_chat",
    "chat response.object": _RENDER + "test_chat",
    "chat response.usage": _RENDER + "test_chat",
    **{
        f"chat response, unsupported.{name}": _RENDER + "test_chat"
        for name in ("id", "system_fingerprint", "choices.message.tool_calls", "choices.message.function_call")
    },
    "chat response, unsupported.usage": _RENDER + "test_chat",  # listed twice; the release returns it
    "chat response, unsupported.choices.logprobs.content": _RENDER + "test_chat_logprobs",  # returned; a switch
}
