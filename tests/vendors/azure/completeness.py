"""Every field of every table of the reference page, and the test that covers it."""

_CODEC = "tests/vendors/azure/chat/test_codec.py::"
_FIELDS = "tests/vendors/azure/chat/test_fields.py::"
_MESSAGES = "tests/vendors/azure/chat/test_messages.py::"
_PARSE = "tests/vendors/azure/chat/test_parse.py::"
_ERRORS = "tests/vendors/azure/errors/test_bodies.py::"
_EXTRAS = "tests/vendors/azure/test_extras.py::"
_FEATURES = "tests/vendors/azure/test_features.py::"
_ADMISSION = "tests/vendors/azure/test_request.py::"
_SAMPLING = "tests/vendors/azure/test_sampling.py::"
_TOOLS = "tests/vendors/azure/test_tools.py::"
_INVALID = f"{_FIELDS}test_a_broken_schema_is_unprocessable"

_REQUEST = {
    "messages": f"{_INVALID}[messages absent]",
    "frequency_penalty": f"{_SAMPLING}test_sampling[frequency_penalty down to -2]",
    "max_tokens": f"{_SAMPLING}test_sampling[max_tokens limits the answer]",
    "presence_penalty": f"{_SAMPLING}test_sampling[presence_penalty up to 2]",
    "response_format": f"{_PARSE}test_response_format[any object]",
    "seed": f"{_SAMPLING}test_sampling[seed]",
    "stop": f"{_SAMPLING}test_sampling[stop as a string]",
    "stream": f"{_PARSE}test_stream[true]",
    "temperature": f"{_SAMPLING}test_sampling[temperature up to 2]",
    "tool_choice": f"{_TOOLS}test_tool_choice[one by name]",
    "tools": f"{_TOOLS}test_tools",
    "top_p": f"{_SAMPLING}test_sampling[top_p]",
}

_ERROR_BODIES = f"{_ERRORS}test_seed_bodies"

FIELDS: dict[str, str] = {
    "URI Parameters.api-version": f"{_ADMISSION}test_api_versions_are_dates",
    "Request Header.extra-parameters": f"{_EXTRAS}test_extra_parameters",
    "Request Header.azureml-model-deployment": f"{_ADMISSION}test_who_answers",
    **{f"Request Body.{name}": test for name, test in _REQUEST.items()},
    **{f"CreateChatCompletionRequest.{name}": test for name, test in _REQUEST.items()},
    "Responses.200 OK": f"{_CODEC}test_seed_answer",
    "Responses.401 Unauthorized": f"{_ERROR_BODIES}[401]",
    "Responses.404 Not Found": f"{_ERROR_BODIES}[404]",
    "Responses.422 Unprocessable Entity": f"{_ERROR_BODIES}[422 of a parameter in the body]",
    "Responses.429 Too Many Requests": f"{_ERROR_BODIES}[429]",
    "Responses.Other Status Codes": f"{_ERROR_BODIES}[content filter]",
    "Responses.x-ms-error-code": _ERROR_BODIES,
    "Security.Authorization": f"{_ADMISSION}test_good_credentials[a key as a token]",
    "Security.AADToken": "tests/vendors/azure/test_info.py::test_tokens_for_applications",
    "ChatCompletionFinishReason.content_filter": f"{_CODEC}test_a_filtered_answer_has_no_text",
    "ChatCompletionFinishReason.length": f"{_CODEC}test_an_empty_answer",
    "ChatCompletionFinishReason.stop": f"{_CODEC}test_seed_answer",
    "ChatCompletionFinishReason.tool_calls": f"{_CODEC}test_tool_calls[seed]",
    "ChatCompletionMessageToolCall.function": f"{_MESSAGES}test_message[tool calls]",
    "ChatCompletionMessageToolCall.ID": f"{_MESSAGES}test_message[a tool call's id spelled ID]",
    "ChatCompletionMessageToolCall.type": f"{_INVALID}[a tool call of another type]",
    "ChatCompletionObject.chat.completion": f"{_CODEC}test_seed_answer",
    "ChatCompletionResponseFormat.type": f"{_INVALID}[response_format empty]",
    "ChatCompletionResponseFormatType.json_object": f"{_PARSE}test_response_format[any object]",
    "ChatCompletionResponseFormatType.text": f"{_PARSE}test_response_format[text]",
    "ChatCompletionResponseMessage.content": f"{_CODEC}test_seed_answer",
    "ChatCompletionResponseMessage.role": f"{_CODEC}test_seed_answer",
    "ChatCompletionResponseMessage.tool_calls": f"{_CODEC}test_tool_calls[seed]",
    "ChatCompletionTool.function": f"{_INVALID}[no function]",
    "ChatCompletionTool.type": f"{_INVALID}[a tool that is no function]",
    "ChatMessageRole.assistant": f"{_MESSAGES}test_message[assistant]",
    "ChatMessageRole.system": f"{_MESSAGES}test_message[system]",
    "ChatMessageRole.tool": f"{_MESSAGES}test_message[tool with an id]",
    "ChatMessageRole.user": f"{_MESSAGES}test_message[user]",
    "Choices.finish_reason": f"{_CODEC}test_seed_answer",
    "Choices.index": f"{_CODEC}test_several_choices_are_numbered",
    "Choices.message": f"{_CODEC}test_seed_answer",
    "CompletionUsage.completion_tokens": f"{_CODEC}test_seed_answer",
    "CompletionUsage.prompt_tokens": f"{_CODEC}test_seed_answer",
    "CompletionUsage.total_tokens": f"{_CODEC}test_seed_answer",
    **{
        f"ContentFilterError.{name}": f"{_ERROR_BODIES}[content filter]"
        for name in ("code", "error", "message", "param", "status")
    },
    "ChatCompletionRequestMessage.content": f"{_MESSAGES}test_message[text parts, payload under content or text]",
    "ChatCompletionRequestMessage.role": f"{_INVALID}[a role nobody has]",
    "ChatCompletionRequestMessage.tool_calls": f"{_MESSAGES}test_message[tool calls]",
    "ChatCompletionMessageContentPart.content": f"{_MESSAGES}test_message[a picture as base64 under content]",
    "ChatCompletionMessageContentPart.detail": f"{_INVALID}[detail of no level]",
    "ChatCompletionMessageContentPart.type": f"{_INVALID}[a part of an unknown type]",
    "ChatCompletionMessageContentPartType.text": f"{_MESSAGES}test_message[text parts, payload under content or text]",
    "ChatCompletionMessageContentPartType.image": f"{_MESSAGES}test_message[a picture as base64 under content]",
    "ChatCompletionMessageContentPartType.image_url": f"{_MESSAGES}test_message[a picture by URL under content]",
    "ChatCompletionToolChoiceOption.none": f"{_TOOLS}test_tool_choice[none]",
    "ChatCompletionToolChoiceOption.auto": f"{_TOOLS}test_tool_choice[auto]",
    "ChatCompletionToolChoiceOption.required": f"{_TOOLS}test_tool_choice[required]",
    "ChatCompletionToolChoiceOption.string": f"{_TOOLS}test_tool_choice[one by name]",
    "ImageDetail.auto": f"{_MESSAGES}test_message[a picture as base64 under content]",
    "ImageDetail.low": f"{_MESSAGES}test_message[pictures under their types]",
    "ImageDetail.high": f"{_MESSAGES}test_message[a picture by URL under content]",
    **{
        f"CreateChatCompletionResponse.{name}": f"{_CODEC}test_seed_answer"
        for name in ("choices", "created", "ID", "model", "object", "system_fingerprint", "usage")
    },
    "Detail.loc": f"{_FEATURES}test_what_a_model_lacks_is_unprocessable[JSON mode]",
    "Detail.value": f"{_FEATURES}test_what_a_model_lacks_is_unprocessable[tools]",
    "Function.arguments": f"{_INVALID}[arguments an object]",
    "Function.name": f"{_INVALID}[a call of no name]",
    "FunctionObject.description": f"{_INVALID}[a description that is a number]",
    "FunctionObject.name": f"{_INVALID}[a function's name of 65 characters]",
    "FunctionObject.parameters": f"{_INVALID}[parameters a list]",
    **{f"NotFoundError.{name}": f"{_ERROR_BODIES}[404]" for name in ("error", "message", "status")},
    "ToolType.function": f"{_INVALID}[a tool that is no function]",
    **{f"TooManyRequestsError.{name}": f"{_ERROR_BODIES}[429]" for name in ("error", "message", "status")},
    **{f"UnauthorizedError.{name}": f"{_ERROR_BODIES}[401]" for name in ("error", "message", "status")},
    **{
        f"UnprocessableContentError.{name}": f"{_ERROR_BODIES}[422 of a parameter in the body]"
        for name in ("code", "detail", "error", "message", "status")
    },
}
