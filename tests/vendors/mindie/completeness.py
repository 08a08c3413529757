"""Every row of the tables of the text and stream inference page, and the test that covers it."""

_FIELDS = "tests/vendors/mindie/generate/test_fields.py::"
_INPUTS = "tests/vendors/mindie/generate/test_inputs.py::"
_PARSE = "tests/vendors/mindie/generate/test_parse.py::"
_WHOLE = "tests/vendors/mindie/generate/test_codec.py::"
_STREAM = "tests/vendors/mindie/generate/test_stream.py::"
_LENGTHS = "tests/vendors/mindie/test_request.py::"
_ENDS = "tests/vendors/mindie/test_answer.py::"

_DETAILS = ("prompt_tokens", "finish_reason", "generated_tokens")

FIELDS: dict[str, str] = {
    "request.inputs": _PARSE + "test_refused",
    "request.type": _INPUTS + "test_media_refused",
    "request.text": _INPUTS + "test_media_taken",
    "request.image_url": _INPUTS + "test_picture_of_more_than_twenty_megabytes",
    "request.video_url": _INPUTS + "test_media_taken",
    "request.audio_url": _INPUTS + "test_twenty_media_of_all_kinds_together",
    "request.parameters": _FIELDS + "test_parameters_must_be_an_object",
    "request.decoder_input_details": _FIELDS + "test_input_details_do_not_stream",
    "request.details": _WHOLE + "test_details",
    "request.do_sample": _FIELDS + "test_sampling",
    "request.max_new_tokens": _LENGTHS + "test_limit",
    "request.repetition_penalty": _FIELDS + "test_what_the_text_depends_on",
    "request.return_full_text": _WHOLE + "test_full_text_in_front",
    "request.seed": _WHOLE + "test_seed_is_echoed_exactly_and_drawn_anew_each_time",
    "request.temperature": _FIELDS + "test_what_the_text_depends_on",
    "request.top_k": _FIELDS + "test_what_the_text_depends_on",
    "request.top_p": _FIELDS + "test_what_the_text_depends_on",
    "request.truncate": _PARSE + "test_truncate",
    "request.typical_p": _FIELDS + "test_out_of_range",
    "request.watermark": _FIELDS + "test_wrong_type",
    "request.stop": _ENDS + "test_end",
    "request.adapter_id": _PARSE + "test_adapter",
    "request.stream": _PARSE + "test_no_stream",
    "text.details": _WHOLE + "test_details",
    **{f"text.details.{field}": _WHOLE + "test_documented_text_sample" for field in _DETAILS},
    "text.details.prefill": _WHOLE + "test_details",
    **{f"text.details.prefill.{field}": _WHOLE + "test_details" for field in ("id", "logprob", "special", "text")},
    "text.details.seed": _WHOLE + "test_documented_text_sample",
    "text.details.tokens": _WHOLE + "test_details",
    **{f"text.details.tokens.{field}": _WHOLE + "test_details" for field in ("id", "logprob", "special", "text")},
    "text.generated_text": _WHOLE + "test_plain_text",
    "stream.data": _STREAM + "test_stream_bytes",
    "stream.data.token": _STREAM + "test_stream_bytes",
    "stream.data.token.id": _STREAM + "test_documented_stream_sample",
    "stream.data.token.text": _STREAM + "test_documented_full_text_sample",
    "stream.data.token.logprob": _STREAM + "test_stream_bytes",
    "stream.data.token.special": _STREAM + "test_stream_bytes",
    "stream.data.generated_text": _STREAM + "test_documented_stream_sample",
    "stream.data.details": _STREAM + "test_details_of_a_stream_need_details",
    **{f"stream.data.details.{field}": _STREAM + "test_documented_stream_sample" for field in _DETAILS},
    "stream.data.details.seed": _STREAM + "test_documented_stream_sample",
}
