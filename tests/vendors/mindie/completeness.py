"""Every row of the tables of the text and stream inference page, and the test that covers it."""

_PARAMETERS = "tests/vendors/mindie/test_parameters.py::"
_INPUTS = "tests/vendors/mindie/test_inputs.py::"
_LIMITS = "tests/vendors/mindie/test_limits.py::"
_ANSWERS = "tests/vendors/mindie/test_answers.py::"

_DETAILS = ("prompt_tokens", "finish_reason", "generated_tokens")

FIELDS: dict[str, str] = {
    "request.inputs": _INPUTS + "test_refused",
    "request.type": _INPUTS + "test_media_refused",
    "request.text": _INPUTS + "test_media_taken",
    "request.image_url": _INPUTS + "test_picture_of_more_than_twenty_megabytes",
    "request.video_url": _INPUTS + "test_media_taken",
    "request.audio_url": _INPUTS + "test_twenty_media_of_all_kinds_together",
    "request.parameters": _PARAMETERS + "test_parameters_must_be_an_object",
    "request.decoder_input_details": _PARAMETERS + "test_input_details_do_not_stream",
    "request.details": _ANSWERS + "test_details",
    "request.do_sample": _PARAMETERS + "test_sampling",
    "request.max_new_tokens": _LIMITS + "test_limit",
    "request.repetition_penalty": _PARAMETERS + "test_what_the_text_depends_on",
    "request.return_full_text": _ANSWERS + "test_full_text_in_front",
    "request.seed": _ANSWERS + "test_seed_is_echoed_exactly_and_drawn_anew_each_time",
    "request.temperature": _PARAMETERS + "test_what_the_text_depends_on",
    "request.top_k": _PARAMETERS + "test_what_the_text_depends_on",
    "request.top_p": _PARAMETERS + "test_what_the_text_depends_on",
    "request.truncate": _LIMITS + "test_truncate",
    "request.typical_p": _PARAMETERS + "test_out_of_range",
    "request.watermark": _PARAMETERS + "test_wrong_type",
    "request.stop": _LIMITS + "test_end",
    "request.adapter_id": _ANSWERS + "test_adapter",
    "request.stream": _INPUTS + "test_no_stream",
    "text.details": _ANSWERS + "test_details",
    **{f"text.details.{field}": _ANSWERS + "test_documented_text_sample" for field in _DETAILS},
    "text.details.prefill": _ANSWERS + "test_details",
    **{f"text.details.prefill.{field}": _ANSWERS + "test_details" for field in ("id", "logprob", "special", "text")},
    "text.details.seed": _ANSWERS + "test_documented_text_sample",
    "text.details.tokens": _ANSWERS + "test_details",
    **{f"text.details.tokens.{field}": _ANSWERS + "test_details" for field in ("id", "logprob", "special", "text")},
    "text.generated_text": _ANSWERS + "test_plain_text",
    "stream.data": _ANSWERS + "test_stream_bytes",
    "stream.data.token": _ANSWERS + "test_stream_bytes",
    "stream.data.token.id": _ANSWERS + "test_documented_stream_sample",
    "stream.data.token.text": _ANSWERS + "test_documented_full_text_sample",
    "stream.data.token.logprob": _ANSWERS + "test_stream_bytes",
    "stream.data.token.special": _ANSWERS + "test_stream_bytes",
    "stream.data.generated_text": _ANSWERS + "test_documented_stream_sample",
    "stream.data.details": _ANSWERS + "test_details_of_a_stream_need_details",
    **{f"stream.data.details.{field}": _ANSWERS + "test_documented_stream_sample" for field in _DETAILS},
    "stream.data.details.seed": _ANSWERS + "test_documented_stream_sample",
}
