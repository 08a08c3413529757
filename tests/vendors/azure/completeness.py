"""Every row of the tables of Azure's wire: the test that shows it, or why it is left out."""

TESTS: dict[str, str] = {
    "reference page: request": """
        api-version | reference_request::field_around_a_body[URI Parameters.api-version]
        extra-parameters | reference_request::field_around_a_body[Request Header.extra-parameters]
        azureml-model-deployment | reference_request::field_around_a_body[Request Header.azureml-model-deployment]
        Authorization | reference_request::field_around_a_body[Security.Authorization]
        AADToken | reference_request::field_around_a_body[Security.AADToken]
        messages; frequency_penalty; max_tokens; presence_penalty | reference_request::field_of_a_body
        response_format; seed; stop; stream; temperature | reference_request::field_of_a_body
        tool_choice; tools; top_p | reference_request::field_of_a_body
    """,
    "reference page: definitions of a request": """
        ChatCompletionMessageToolCall function, ID, type | reference_definitions::field_of_a_definition
        ChatCompletionResponseFormat type | reference_definitions::field_of_a_definition
        ChatCompletionResponseFormatType json_object, text | reference_definitions::field_of_a_definition
        ChatCompletionTool function, type | reference_definitions::field_of_a_definition
        ChatMessageRole assistant, system, tool, user | reference_definitions::field_of_a_definition
        ChatCompletionRequestMessage content, role, tool_calls | reference_definitions::field_of_a_definition
        ChatCompletionMessageContentPart content, detail, type | reference_definitions::field_of_a_definition
        ChatCompletionMessageContentPartType text, image, image_url | reference_definitions::field_of_a_definition
        ChatCompletionToolChoiceOption | reference_definitions::field_of_a_definition
        ImageDetail auto, low, high | reference_definitions::field_of_a_definition
        Function arguments, name | reference_definitions::field_of_a_definition
        FunctionObject description, name, parameters; ToolType | reference_definitions::field_of_a_definition
    """,
    "reference page: answers": """
        200 OK | reference_answer::field_of_an_answer
        CreateChatCompletionResponse | reference_answer::field_of_an_answer
        Choices finish_reason, index, message | reference_answer::field_of_an_answer
        ChatCompletionResponseMessage content, role, tool_calls | reference_answer::field_of_an_answer
        ChatCompletionFinishReason | reference_answer::field_of_an_answer
        CompletionUsage | reference_answer::field_of_an_answer
        401 UnauthorizedError | reference_answer::field_of_an_error
        404 NotFoundError | reference_answer::field_of_an_error
        422 UnprocessableContentError; Detail loc, value | reference_answer::field_of_an_error
        429 TooManyRequestsError | reference_answer::field_of_an_error
        other ContentFilterError | reference_answer::field_of_an_error
        x-ms-error-code | reference_answer::field_of_an_error
        the sample | golden::exchange
    """,
    "profiles": """
        seed; maas; managed; foundry; aoai | settings::a_profile_sets_the_switches
        their bytes | golden::exchange
        side by side | surface::paths_of_azure_openai_speak_it_whatever_the_root_does
        a switch of the scenario | surface::what_a_scenario_switches_holds_on_every_path
        errors of the route | surface::switches_of_the_root_stay_there
    """,
    "where page and service differ": """
        ignore or drop | extras::extra_parameters[seed: ignore drops]
        drop alone | extras::extra_parameters[maas: ignore means nothing]
        the default | extras::extra_parameters[seed: absent refuses]
        body of a 422 | errors/bodies::bodies_of_the_wire
        error as text | errors/bodies::seed_bodies
        error left out | errors/bodies::docs_bodies_have_no_error_key
        temperature | chat/features::strict_switches[a narrow range]
        content parts | chat/messages::message[text parts, payload under content or text]
        tool_call_id | chat/features::strict_switches[tool_call_id required]
        tool_choice | chat/features::strict_switches[a string only]
        stop | sampling::sampling[stop as a list]
        model | request::a_model_nobody_has_is_ignored_where_one_model_lives
        another modality | request::a_route_the_model_does_not_serve
        content filter | errors/bodies::bodies_of_the_wire
    """,
    "routes": """
        POST chat/completions; POST completions; POST embeddings | request::prefixes_do_not_matter
        POST images/embeddings | embeddings::pictures
        GET info | resource/info::info
        POST images/generations | images::pictures_of_model_inference
        GET / | resource/info::a_container_is_healthy
        GET health | resource/info::status[and healthy]
        GET swagger.json | resource/info::status[and describes itself]
        POST v1/chat/completions, v1/completions | extras::raw_routes_of_a_managed_endpoint_check_no_extras
        no prefix; models; openai/deployments; any other | request::prefixes_do_not_matter
        endpoints/{deployment} | surface::an_endpoint_of_its_own_has_one_model
        openai/v1 | surface::v1_asks_for_a_model
        api/projects/{project} | resource/models::deployments_of_a_project
        connections | resource/models::connections_of_a_project
        openai/v1/models | resource/models::models_of_v1
        openai/models | resource/models::models_by_date
        openai/v1/responses | responses/parse::where_it_is
        openai/responses | responses/parse::where_it_is[dated]
        stored chats | chat/stored::an_answer_is_kept_with_what_it_was_asked
        anthropic/v1/messages | native/anthropic::an_answer
        rerank | native/rerank::the_best_comes_first
        Entra's discovery | resource/models::a_tenant_says_where_tokens_are
        Entra's token | resource/info::tokens_for_applications
    """,
    "api-version": """
        a date, or one of preview | request::api_versions_are_dates
        none or malformed | request::no_api_version_is_refused
        of gateways | request::gateways_know_no_such_version
        of containers | request::where_no_version_is_asked[a container never reads it]
        of serverless endpoints | request::where_no_version_is_asked[nor a serverless endpoint]
        only some | request::listed_api_versions_alone_exist
        none under v1 | request::v1_has_no_dated_versions
    """,
    "info": """
        model_name, model_type, model_provider_name | resource/info::info[seed]
        served_model_name, served_model_type | resource/info::info[maas, chat]
        embedding | resource/info::info[maas, embeddings]
        order and indent of the container | resource/info::info[managed]
        chat-completion, as the client reads it | conformance/test_azure_sdk.py::test_load_client
        none of many models | resource/info::status[foundry has none]
        whose, by header or name | resource/info::info_is_of_whom_header_or_model_name
    """,
    "routing": """
        azureml-model-deployment | request::who_answers
        an unknown one | request::a_name_nobody_has
        model, whatever its case | catalogue::names_are_told_apart_whatever_their_case
        no_model_name | request::a_name_nobody_has[foundry, nothing]
        unknown_model | request::a_name_nobody_has[foundry, unknown]
        DeploymentNotFound | request::a_name_nobody_has[aoai, path]
        x-ms-model-mesh-model-name | headers::a_header_that_matters_is_read_each_time[x-ms-model-mesh-model-name]
        header before model | request::a_name_outside_the_body_is_looked_up_before_the_body
    """,
    "headers of a request": """
        api-key | request::good_credentials[a key]
        Bearer | request::good_credentials[a key as a token]
        one of both | request::good_credentials[one of both is right]
        any case of Bearer | request::good_credentials[a token, any case of its scheme]
        a colon | request::bad_credentials[a colon after the scheme]
        a key of zeros | request::bad_credentials[a key of zeros]
        a list of keys | request::listed_keys_alone_open
        Content-Type | decoder::a_container_reads_what_is_not_labelled_json_as_text
        x-ms-client-request-id | headers::the_clients_request_id_comes_back
    """,
    "fields of a chat": """
        messages, none | chat/fields::a_broken_schema_is_unprocessable[no message]
        frequency_penalty | sampling::sampling[frequency_penalty down to -2]
        presence_penalty | sampling::sampling[presence_penalty up to 2]
        max_tokens | sampling::sampling[max_tokens limits the answer]
        max_tokens 0 | sampling::sampling[max_tokens may be zero]
        256 of a container | sampling::managed_endpoints_have_a_default_length
        response_format | chat/parse::response_format
        seed of 64 bits | sampling::sampling[seed of 64 bits]
        stop, a string | sampling::sampling[stop as a string]
        stream | chat/parse::stream
        temperature 1 | sampling::sampling[temperature 1 is the default]
        temperature up to 2 | sampling::sampling[temperature up to 2]
        tool_choice | chat/tools::tool_choice
        tools | chat/tools::tools
        top_p | sampling::sampling[top_p 1 is the default]
        model | request::who_answers
        modalities | chat/audio::model_inference_speaks_too
        n, an extra | extras::passed_through_parameters_take_effect[n]
        null is absent | sampling::sampling[stop null]
        numbers in strings | decoder::containers_read_numbers_in_strings
        a fraction for an integer | chat/fields::a_broken_schema_is_unprocessable[max_tokens a fraction]
    """,
    "400 or 422": """
        1 broken schema | chat/fields::serverless_endpoints_list_the_violations
        2 what the model lacks | chat/features::what_a_model_lacks_is_unprocessable
        3 an extra | extras::extra_parameters[seed: error refuses]
        4 an unknown value of the header | extras::extra_parameters[seed: another value]
        5 passed through and refused | extras::a_model_may_refuse_what_is_passed_through
        6 content filter | golden::exchange
        7 no model | request::a_name_nobody_has[foundry, nothing]
        body before header | extras::a_wrong_header_is_refused_after_a_wrong_body
    """,
    "extra-parameters": """
        absent | extras::extra_parameters[maas: absent refuses]
        error | extras::extra_parameters[maas: error refuses]
        drop | extras::extra_parameters[seed: drop drops]
        ignore | extras::extra_parameters[seed: ignore drops]
        pass-through | extras::extra_parameters[seed: pass-through hands on]
        allow | extras::extra_parameters[seed: allow hands on]
        allow of the wire | extras::extra_parameters[maas: allow means nothing]
        case | extras::extra_parameters[seed: case matters]
        newest container | extras::extra_parameters[newest container: only error refuses]
        top-level keys alone | extras::only_keys_at_the_top_are_extra
        in the order of the body | golden::exchange
        by the Python client | conformance/test_azure_sdk.py::test_extra_parameters
        by an OpenAI model | extras::openai_models_know_their_own_parameters
        refused in the model's words | extras::an_older_model_refuses_without_a_wrapping
    """,
    "messages and parts": """
        system | chat/messages::message[system]
        developer | chat/messages::message[developer]
        user | chat/messages::message[user]
        assistant | chat/messages::message[assistant without content]
        tool | chat/messages::message[tool with an id]
        tool without an id | chat/messages::message[tool without an id]
        a call's ID | chat/messages::message[a tool call's id spelled ID]
        a call without id | chat/messages::message[a tool call without an id]
        empty list | chat/fields::serverless_endpoints_list_the_violations[no message]
        a part without payload | chat/fields::serverless_endpoints_list_the_violations[a part without its payload]
        name of a function | chat/fields::a_broken_schema_is_unprocessable[a function's name of 65 characters]
        image_url | chat/messages::message[a picture by URL under content]
        image | chat/messages::message[pictures under their types]
        input_audio | chat/audio::a_sound_that_is_listened_to
        base64 | chat/messages::base64_that_is_none
        an unknown type | chat/fields::a_broken_schema_is_unprocessable[a part of an unknown type]
        detail | chat/fields::a_broken_schema_is_unprocessable[detail of no level, nested]
        a model without vision | chat/features::what_a_model_lacks_is_unprocessable[a picture]
    """,
    "tools and formats": """
        none | chat/tools::tool_choice[none]
        auto | chat/tools::tool_choice[auto]
        required | chat/tools::tool_choice[required]
        required, none there | chat/features::what_a_model_lacks_is_unprocessable[a required tool where none is]
        named | chat/tools::tool_choice[one by name]
        named, absent | chat/tools::a_named_tool_must_be_on_offer
        stop at a named one | chat/codec::openai_ends_a_named_call_with_stop
        no tools | chat/features::what_a_model_lacks_is_unprocessable[tools]
        json_object | chat/parse::response_format[any object]
        json_schema | chat/parse::response_format[a schema]
        name of a schema | chat/fields::a_broken_schema_is_unprocessable[a schema of a wrong name]
        unsupported | chat/features::what_a_model_lacks_is_unprocessable[JSON mode]
        an unknown type of format | chat/fields::a_broken_schema_is_unprocessable[response_format of an unknown type]
        a bare string | chat/fields::a_broken_schema_is_unprocessable[response_format a string]
    """,
    "answers": """
        keys of seed | chat/codec::seed_answer
        keys of maas | chat/codec::serverless_answer
        keys of aoai | chat/codec::openai_answer
        foundry | chat/codec::foundry_answers_as_its_model_does
        call_id | chat/codec::tool_calls
        ids of nine characters | chat/codec::mistral_has_ids_of_nine_characters
        n | chat/codec::several_choices_are_numbered
        filtered | chat/codec::a_filtered_answer_has_no_text
        reasoning_content | chat/codec::thoughts_have_a_field_of_their_own
        think tags | chat/codec::older_models_think_inline
        refusal | chat/codec::refusals
        logprobs | chat/codec::log_probabilities
        prompt_filter_results; content_filter_results | golden::exchange
        details of usage | golden::exchange
        headers of a serverless answer | golden::exchange
    """,
    "streams": """
        grammar | golden::exchange
        content type | chat/stream::streams_are_event_streams
        of maas | chat/stream::serverless_stream
        a call of maas | chat/stream::serverless_stream_of_a_tool_call
        of aoai | chat/stream::openai_stream
        a call of aoai | chat/stream::openai_stream_of_tool_calls
        include_usage | chat/stream::openai_counts_tokens_only_when_asked
        n | chat/stream::choices_run_side_by_side
        escapes | chat/stream::what_a_token_holds_is_escaped
        filtered midway | chat/stream::openai_stream_that_the_filter_ends
        failed midway | errors/render::late_failures
    """,
    "errors": """
        seed 401 | errors/bodies::seed_bodies[401]
        seed 404 | errors/bodies::seed_bodies[404]
        seed 422 | errors/bodies::seed_bodies[422 of a parameter in the body]
        seed 429 | errors/bodies::seed_bodies[429]
        seed 400 | errors/bodies::seed_bodies[content filter]
        docs | errors/bodies::docs_bodies_have_no_error_key
        maas 401 | errors/bodies::bodies_of_the_wire[maas 401]
        a wrong key, a wrong token | errors/openai::gateways_tell_a_wrong_key_from_a_wrong_token
        aoai 403 | errors/bodies::bodies_of_the_wire[aoai 403]
        maas 404 of a modality | errors/bodies::bodies_of_the_wire[maas 404 of a model]
        gateway 404 | errors/bodies::bodies_of_the_wire[aoai path]
        managed, another task | golden::exchange
        container 404 | errors/bodies::bodies_of_the_wire[maas path]
        405 | errors/render::a_wrong_method_names_the_right_one
        unknown_model; no_model_name | golden::exchange
        aoai 400 | errors/openai::openai_words_for_parameters
        encoding_format of aoai | errors/openai::openai_words_for_embeddings
        413 tokens_limit_reached | sampling::a_prompt_beyond_the_context_is_refused
        422 A | errors/bodies::bodies_of_the_wire[maas 422 of the documentation]
        422 B | chat/fields::serverless_endpoints_list_the_violations
        422 C | extras::a_model_may_refuse_what_is_passed_through
        422 D | extras::an_older_model_refuses_without_a_wrapping
        422 E is a 400 | errors/openai::openai_words_for_parameters
        code words of the container | errors/bodies::bodies_of_the_wire[a status the container has no word for]
        500 of the container | errors/bodies::bodies_of_the_wire[managed 500]
        content filter of maas | errors/bodies::bodies_of_the_wire[maas content filter]
        content filter of aoai | golden::exchange
        content filter of an answer | chat/codec::foundry_may_send_a_filtered_answer_as_an_error
        content filter of the container | errors/bodies::bodies_of_the_wire[managed content filter]
        429 of foundry | errors/bodies::bodies_of_the_wire[foundry 429]
        429 of aoai | errors/bodies::bodies_of_the_wire[aoai 429]
    """,
    "violations": """
        missing | chat/fields::serverless_endpoints_list_the_violations[messages absent]
        value_error | chat/fields::serverless_endpoints_list_the_violations[no message]
        model_attributes_type | chat/fields::serverless_endpoints_list_the_violations[a body that is a list]
        empty body | decoder::a_container_misses_a_body
        json_invalid | decoder::a_container_says_where_json_breaks
        float_type, float_parsing | chat/fields::serverless_endpoints_list_the_violations[frequency_penalty text]
        int_type, int_parsing | chat/fields::serverless_endpoints_list_the_violations[max_tokens text]
        int_from_float | chat/fields::serverless_endpoints_list_the_violations[max_tokens a fraction]
        bool_type, bool_parsing | chat/fields::serverless_endpoints_list_the_violations[stream text]
        greater_than_equal | chat/fields::serverless_endpoints_list_the_violations[presence_penalty below -2]
        less_than_equal | chat/fields::serverless_endpoints_list_the_violations[top_p above 1]
        list_type | chat/fields::serverless_endpoints_list_the_violations[messages a string]
        string_type | chat/fields::serverless_endpoints_list_the_violations[content a number]
        enum | chat/fields::serverless_endpoints_list_the_violations[a role nobody has]
        a message that is no object | chat/fields::serverless_endpoints_list_the_violations[a message that is no object]
        neither of two types | chat/fields::what_is_neither_of_two_types_breaks_both
    """,
    "completions": """
        prompt | completions::prompt
        sampling | completions::sampling
        misuse | completions::what_is_unprocessable
        extras | completions::extra_parameters
        a chat model | completions::a_chat_model_completes_no_text
        answer | completions::answer
        stream | completions::a_stream_says_what_the_whole_answer_says
        of Azure OpenAI | completions::azure_openai_completes_in_its_own_form
    """,
    "embeddings": """
        input, a text | embeddings::input[a text]
        input, token ids | embeddings::input[token ids of one text]
        1024 inputs | embeddings::what_is_unprocessable[1025 texts]
        dimensions | embeddings::dimensions
        dimensions, unsupported | embeddings::what_is_unprocessable[a model of one size]
        encoding_format | embeddings::encodings_say_the_same
        packed bits | embeddings::what_is_unprocessable[signs that fill no byte]
        input_type | embeddings::a_purpose_changes_the_vector_but_not_the_count
        input_type, unknown | embeddings::the_recorded_refusal_of_a_purpose
        answer | embeddings::answer
        headers | embeddings::serverless_endpoints_count_in_headers
        of Azure OpenAI | embeddings::openai_has_a_shape_of_its_own
        pictures | embeddings::pictures
        pictures, refused | embeddings::pictures_that_are_refused
        who knows none | embeddings::who_knows_no_pictures
        too long a text | embeddings::a_text_beyond_the_context_is_refused
    """,
    "headers of an answer": """
        x-ratelimit-limit-requests; x-ratelimit-limit-tokens | headers::what_is_left_of_the_usual_quotas
        x-ratelimit-remaining-requests | headers::the_third_of_two_calls_is_refused
        x-ratelimit-remaining-tokens | headers::what_is_left_of_the_usual_quotas
        the same of a 429 | headers::a_refusal_counts_requests_and_tokens_as_an_answer_does
        retry-after | errors/render::the_wait_is_whole_seconds
        retry-after-ms | headers::a_refusal_counts_requests_and_tokens_as_an_answer_does
        UserByModelByMinute | headers::the_third_of_two_calls_is_refused
        UserByModelByDay | headers::a_limit_of_a_day_is_named_so
        UserByModelByMinuteTokens | limits/test_server.py::test_a_refusal_has_the_vendors_words
        UserByModelByMinuteUncachedInputTokens | limits/test_server.py::test_a_refusal_has_the_vendors_words
        apim-request-id; x-ms-region | chat/codec::gateways_name_their_requests
        X-Request-ID; Request-Context | golden::exchange
        azureml-model-session; azureml-model-group | golden::exchange
        x-ms-rai-invoked | golden::exchange
        prompt_token_len; sampling_token_len | golden::exchange
        num_chars; num_tokens | embeddings::serverless_endpoints_count_in_headers
        Cache-Control; Expires; Pragma; Vary; x-accel-expires of embeddings | golden::exchange
        ms-azureml-model-error-reason; ms-azureml-model-error-statuscode | golden::exchange
        Strict-Transport-Security; X-Content-Type-Options; x-accel-buffering | golden::exchange
        x-ms-error-code of seed | errors/bodies::the_documented_shape_is_flat_and_named
        x-ms-error-reason | golden::exchange
    """,
    "Azure OpenAI": """
        ordinary parameters | chat/openai::ordinary_parameters_work
        cached_tokens | dialects/test_cached.py::test_a_long_prompt_is_read_from_a_cache_the_second_time
        no parameter forgotten | chat/openai::every_field_is_tried
        by model | parameters::what_a_model_refuses
        what a model takes | parameters::what_a_model_takes
        functions | chat/openai::functions_are_tools_by_their_first_name
        custom tools | chat/custom::the_text_fits_the_format
        sound | chat/audio::a_message_that_is_heard
        pictures | images::pictures_of_azure_openai
        Responses' fields | responses/parse::every_field_is_taken
        Responses' state | responses/kept::equal_requests_are_kept_apart
        a stream again | responses/replay::a_stream_is_heard_again_to_the_byte
        background | responses/parse::background_work_is_queued_first
        input items | responses/kept::input_items_come_in_pages
        strict schemas | chat/schemas::a_schema_that_cannot_be_followed
        content filter of Responses | responses/parse::a_prompt_that_is_filtered
        the families | catalogue::the_families_that_users_call_by_name_are_there
    """,
    "traps": """
        what the Python client sends | conformance/test_azure_sdk.py::test_every_parameter
        200 alone is success | conformance/test_azure_sdk.py::test_complete
        what is read of a refusal | conformance/test_azure_sdk.py::test_what_the_client_reads_of_a_refusal
        tries | conformance/test_azure_sdk.py::test_throttling_is_retried_as_told
        Retry-After on 429 alone | errors/render::the_wait_is_whole_seconds
        the strict parser | conformance/test_azure_sdk.py::test_stream
        a key without TLS | conformance/test_azure_sdk.py::test_model_info
        a token over TLS | conformance/test_azure_sdk.py::test_a_token_over_tls
        a token without TLS | conformance/test_azure_sdk.py::test_a_token_without_tls
        Node's statuses | conformance/test_azure_node.py::test_inference_errors
        Node's stream | conformance/test_azure_node.py::test_inference_stream
        index of a call | conformance/test_azure_langchain.py::test_streamed_tool_calls_are_not_lost
        no model named | conformance/test_azure_langchain.py::test_the_model_is_asked_for_where_none_is_named
        base64 | conformance/test_azure_openai.py::test_embeddings_come_as_base64
    """,
}

LEFT_OUT: dict[str, str] = {
    "POST /score": "Azure Machine Learning's own scoring format, not this API",
    "502 Downstream unavailable": "the container's engine is never apart from it; a rule says `status: 502`",
    "ChatCompletion counts that end in model_length or error": "finish reasons of one engine, in no recording",
    "Model {modelName} is enabled only for api versions …": "a model's own least version; a rule's `body` says it",
    "API version not supported by a gateway": "another gateway's words, whose status differs from thread to thread",
    "mixtral does not support json response format": "of an older container",
    "Tools and tool_choice are not supported": "of an older container",
    "audio_prompt_tokens, image_prompt_tokens": "Phi-4's own counts; its sound and pictures count as prompt tokens",
    "completion_tokens_details.total_tokens": "of drafts alone",
    "azureml-destination-*, x-aml-cluster, cmp-upstream-response-duration": "names and times of machines",
    "ms-azureml-model-time, x-envoy-upstream-service-time, x-request-time": "durations of machines",
    "api-supported-versions": "of single recordings",
    "x-api-warning of embeddings": "what Cohere warned of is in no recording",
    "prompt_patches, total_patches": "counts of pictures that no recording shows",
    "quotas of 300 calls at once": "a limit with `unit: concurrency`; answers have no header for it",
    "signatures of tokens": "nothing here could check one; keys of the scenario decide",
    "batches, files, vector stores, assistants, agents, conversations": "the README says so",
    "compaction, edited images, fine-tuning": "the README says so",
}

COUNTS: dict[str, int] = {
    "reference page: request": 17,
    "routes": 27,
    "fields of a chat": 21,
    "400 or 422": 8,
    "extra-parameters": 14,
    "errors": 32,
    "violations": 16,
    "embeddings": 16,
    "headers of an answer": 34,
    "Azure OpenAI": 17,
    "traps": 14,
}
"""How many rows the tables have that are shown in full."""
