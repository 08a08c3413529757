"""Every row of the tables of Databricks' wire: the test that shows it, or why it is left out."""

TESTS: dict[str, str] = {
    "REST reference: chat request": """
        messages; max_tokens; stream; temperature; top_p; top_k; stop; n; tool_choice; tools | reference_chat::field
        response_format; logprobs; top_logprobs; reasoning_effort | reference_chat::field
    """,
    "REST reference: objects of a chat": """
        ChatMessage role, content, tool_calls, tool_call_id | reference_chat::field
        ToolCall id, type, function, cache_control | reference_chat::field
        FunctionCallCompletion name, arguments | reference_chat::field
        ToolChoiceObject type, function | reference_chat::field
        ToolObject type, function | reference_chat::field
        FunctionObject name, description, parameters, strict | reference_chat::field
        ResponseFormatObject type, json_schema | reference_chat::field
        JsonSchemaObject name, description, schema, strict | reference_chat::field
    """,
    "REST reference: chat response": """
        id; choices; object; created; model; usage | reference_chat::field
        ChatCompletionChoice index, message, finish_reason, extra_fields | reference_chat::field
        ChatCompletionChunk index, delta, finish_reason | reference_chat::field
        usage completion_tokens, prompt_tokens, total_tokens, reasoning_tokens | reference_chat::field
    """,
    "REST reference: Responses": """
        model; input; instructions; max_output_tokens; temperature; top_p | reference_responses::field
        stream; stream_options; text; reasoning; tool_choice; tools | reference_responses::field
        parallel_tool_calls; max_tool_calls; metadata; prompt_cache_key | reference_responses::field
        prompt_cache_retention; safety_identifier; user; truncation | reference_responses::field
        top_logprobs; include; prompt | reference_responses::field
        background; store; conversation; service_tier | reference_responses::field
        ResponsesInput, InputText, OutputText, InputImage, InputFile | reference_input::field
        FunctionCall, FunctionCallOutput | reference_input::field
        fields of a response | reference_responses::field
        ResponsesMessage; IncompleteDetails | reference_responses::field
        Error code, message, param, type | reference_responses::error_of_a_failed_response
    """,
    "REST reference: completions and embeddings": """
        prompt; max_tokens; stream; temperature; top_p; top_k; error_behavior | reference_text::field_of_completions
        n; stop; suffix; echo; use_raw_prompt | reference_text::field_of_completions
        fields of a completion | reference_text::field_of_completions
        input; instruction | reference_text::field_of_embeddings
        fields of an embedding | reference_text::field_of_embeddings
    """,
    "where reference and service differ": """
        C1 stream | settings::switch_alone[C1 streams unasked]
        C1 of completions | settings::switch_alone[C1 completions stream unasked]
        C2 object | settings::switch_alone[C2 object]
        C3 usage in a stream | settings::switch_alone[C3 usage in chunks]
        C4 properties of a function | settings::further_limits
        C5 top_p | settings::switch_alone[C5 top_p may be zero]
        C6 description | settings::switch_alone[C6 a description is needed]
        C6 parameters | settings::switch_alone[C6 parameters are needed]
        C7 tools nested | settings::switch_alone[C7 nested tools only]
        C7 tools flat | settings::switch_alone[C7 flat tools only]
        C8 format nested | settings::switch_alone[C8 nested format only]
        C8 format flat | settings::switch_alone[C8 flat format only]
        C9 what Responses refuse | settings::switch_alone[C9 previous response]
        C10 tools of Responses | settings::switch_alone[C10 functions only]
        C11 roles of Responses | settings::switch_alone[C11 no system role]
        C12 content beside calls | settings::switch_alone[C12 no content beside calls]
        C13 cache_control | settings::switch_alone[C13 a string only]
        C14 efforts | settings::switch_alone[C14 three efforts only]
        C15 content | settings::switch_alone[C15 no lists in requests]
        C16 encoding | settings::switch_alone[C16 no encoding]
        C17 default max_tokens | settings::switch_alone[C17 no limit of the model's own]
        profiles | settings::profile_sets_what_the_reference_says
    """,
    "conventions": """
        a slash at the end | errors::openai_routes_need_a_model
        JSON of a DELETE | workspace/changes::an_endpoint_of_the_scenario_is_changed_and_deleted
        request ids and workspace id | errors::every_answer_names_request_and_workspace
        served-model-name | chat/codec::answer_has_the_shape_of_the_reference
        headers nobody knows | errors::headers_that_nobody_knows_change_nothing
    """,
    "inference routes": """
        POST {name}/invocations | golden::exchange
        POST {name}/served-models/{served}/invocations | request::traffic_is_split_and_can_be_addressed
        POST chat/completions; POST completions; POST embeddings; POST responses | errors::openai_routes_need_a_model
        POST v1/responses; POST v1/chat/completions | errors::openai_routes_need_a_model
        POST anthropic/v1/messages | native/anthropic::an_answer_in_one_piece
        POST anthropic/v1/messages/count_tokens | native/anthropic::tokens_are_counted_without_an_answer
        POST gemini/v1beta generateContent | native/gemini::several_candidates
        POST gemini/v1beta streamGenerateContent | golden::exchange
        POST gemini/v1beta countTokens | native/gemini::a_whole_request_is_counted
        POST the route-optimized address | gateway::route_optimized_address_is_for_custom_models
        GET models | catalogue::models_are_listed_for_openai_tools
    """,
    "AI gateway routes": """
        mlflow/v1 chat | gateway::gateway[chat]
        mlflow/v1 embeddings | gateway::gateway[embeddings]
        mlflow/v1 responses | gateway::gateway[Responses]
        a model of Unity Catalog | gateway::gateway[a model]
        openai/v1 chat | gateway::gateway[OpenAI's chat]
        openai/v1 responses | gateway::gateway[OpenAI's Responses]
        GPT only | gateway::gateway[not GPT]
        codex/v1 responses | gateway::gateway[Codex]
        codex/v1 chat | gateway::gateway[Codex chats]
        cursor/v1 chat | gateway::gateway[Cursor]
        anthropic/v1 messages | native/anthropic::a_model_of_unity_catalog
        gemini/v1beta | native/gemini::a_prompt_too_long
        discovery: endpoints; foundation models; model services | gateway::discovery
    """,
    "authentication": """
        databricks-config | workspace/endpoints::discovery_leads_to_the_token
        oauth-authorization-server | workspace/endpoints::discovery_leads_to_the_token
        openid-configuration | workspace/endpoints::openid_discovery_is_as_the_client_reads_it
        neither asks for a credential | workspace/endpoints::discovery_asks_for_nothing
        POST /oidc/v1/token, Basic or form | workspace/auth::issued_token_opens_what_its_secret_opens
        its errors | workspace/auth::refused_token
        token exchange, jwt-bearer, refresh | workspace/auth::issued_token_opens_what_its_secret_opens
        authorization code | workspace/auth::consent_is_given_at_once
        authorization_details | workspace/changes::a_token_of_one_route_optimized_endpoint_opens_no_other
        expiry | workspace/auth::a_token_is_good_for_its_time
        scopes | workspace/auth::a_token_opens_what_its_scopes_cover
        an unknown scope | workspace/auth::an_unknown_scope_is_refused
        a personal token | workspace/auth::credentials
        a token as a password | workspace/auth::credentials[a token as a password]
        /aad/auth; /oidc/oauth2/v2.0/authorize | workspace/auth::the_tenant_of_azure_is_named
        GET scim/v2/Me | golden::exchange
        what clients read of the environment | routes::environment_names_what_clients_read
    """,
    "management routes": """
        list; get | workspace/endpoints::listing_and_one_endpoint
        create; create_and_wait | workspace/changes::an_endpoint_comes_up_in_its_time
        create_provisioned_throughput_endpoint | workspace/changes::what_is_left_out_of_a_new_endpoint_is_filled_in
        update_provisioned_throughput_endpoint_config | workspace/changes::a_provisioned_endpoint_gets_another_config
        delete | workspace/changes::an_endpoint_of_the_scenario_is_changed_and_deleted
        update_config; update_config_and_wait | workspace/changes::an_endpoint_of_the_scenario_is_changed_and_deleted
        put_ai_gateway | workspace/told::limits_by_tokens_and_by_user
        put (rate limits) | workspace/told::the_older_limits
        patch (tags) | workspace/told::tags_are_added_and_deleted
        update_notifications | workspace/told::notifications
        patch_telemetry_config | workspace/told::telemetry_is_of_custom_models
        export_metrics; get_open_api; build_logs; logs | workspace/details::details_of_an_endpoint
        get-model-optimization-info | workspace/details::details_of_an_endpoint
        get_permissions; get_permission_levels | workspace/details::permissions_go_by_id
        set_permissions; update_permissions | workspace/grants::what_is_granted
        config:stop; config:start | workspace/changes::a_custom_model_is_stopped_and_started
        each with the SDK | conformance/test_databricks_management.py::test_an_endpoint_is_made_and_answers
    """,
    "shapes of an endpoint": """
        ServingEndpoint; ServingEndpointDetailed | golden::exchange
        creator_display_name, creator_kind | workspace/changes::an_endpoint_comes_up_in_its_time
        state | workspace/endpoints::states_of_endpoints
        suspend | workspace/endpoints::states_of_endpoints
        config; config summary | workspace/endpoints::endpoints_of_a_scenario
        served_models | workspace/endpoints::percentages_sum_to_a_hundred
        pending_config | workspace/changes::an_endpoint_comes_up_in_its_time
        deployment states | workspace/changes::what_is_left_out_of_a_new_endpoint_is_filled_in
        traffic_config | workspace/endpoints::percentages_sum_to_a_hundred
        workload_type | workspace/config::every_kind_of_machine
        workload_size | workspace/config::refused_entities[a size]
        environment_vars | workspace/config::refused_entities[51 variables]
        provisioned concurrency | workspace/config::refused_entities[too many calls at once]
        provisioned_model_units | workspace/config::an_entity_of_model_units_never_sleeps
        external_model and its providers | workspace/config::refused_entities[no provider]
        secrets | workspace/changes::secrets_are_never_shown
        ai_gateway | workspace/config::refused_gateways
        permission_level | workspace/grants::what_is_granted
        burst_scaling_enabled | workspace/changes::the_old_names_of_entities_are_taken
        task | workspace/endpoints::listing_and_one_endpoint
        capabilities | workspace/endpoints::listing_and_one_endpoint
        api_types | workspace/endpoints::listing_and_one_endpoint
        no id and no creator | workspace/endpoints::listing_and_one_endpoint
        data_plane_info | workspace/changes::a_route_optimized_endpoint_has_an_address_of_its_own
    """,
    "lifecycle": """
        a name that is taken | workspace/changes::nothing_is_changed_twice_at_once
        states of a new endpoint | workspace/changes::an_endpoint_comes_up_in_its_time
        an update beside another | workspace/changes::nothing_is_changed_twice_at_once
        config_version | workspace/changes::a_custom_model_is_stopped_and_started
        not found | workspace/changes::refused[missing]
        names of entities | workspace/changes::what_is_left_out_of_a_new_endpoint_is_filled_in
        traffic of one entity | workspace/changes::what_is_left_out_of_a_new_endpoint_is_filled_in
        A/B split | request::traffic_is_split_and_can_be_addressed
        types are not mixed | workspace/changes::refused[external models come to others]
        fallback | workspace/policy::another_model_takes_the_place_of_one_that_fails
        throughput in chunks | workspace/config::refused_entities[a base model]
        Llama 4 alone | workspace/config::refused_entities[alone]
        scale to zero | workspace/idle::the_first_after_a_long_while_waits
        too long a cold start | workspace/idle::what_takes_too_long_is_given_up
        stop and start | workspace/changes::a_custom_model_is_stopped_and_started
        rules of the gateway | workspace/told::refused_limits
        metrics | metrics::each_endpoint_counts_its_own_inference
        metrics of entities | metrics::each_served_entity_counts_its_own
        OpenAPI of what is ready | workspace/details::refused_details
        tags | workspace/told::tags_are_added_and_deleted
        permissions of a preconfigured endpoint | workspace/details::refused_details[a preconfigured endpoint]
    """,
    "tasks": """
        chat, messages | chat/parse::accepted
        chat, another task's field | chat/parse::refused[another task's field]
        completions, prompt | completions::field[one prompt]
        embeddings, input | embeddings::field[a text]
        embeddings, no input | embeddings::rules_of_the_task_have_their_own_code
        custom, four forms | custom::custom_models_predict
        custom, a chat | custom::custom_models_predict[a chat body]
        agent, input | responses/parse::agents_speak_responses
        agent, messages | custom::custom_models_and_agents_do_not_chat
        what the API itself defines | chat/parse::accepted[options of the platform]
    """,
    "usage": """
        prompt_tokens with the template | chat/messages::prompt_tokens_count_the_template
        completion_tokens, not of embeddings | embeddings::answer_has_the_shape_of_the_reference
        total_tokens | chat/codec::answer_has_the_shape_of_the_reference
        reasoning_tokens | chat/codec::gpt_oss_thinks_aloud
        completion_tokens_details | chat/codec::gpt_oss_thinks_aloud
        prompt_tokens_details | chat/stream::gpt_reports_usage_in_a_chunk_of_its_own
        cache_read_input_tokens, cache_creation_input_tokens | chat/stream::claude_reports_usage_at_the_end
        a prompt of a cache | workspace/policy::a_long_prompt_is_read_from_a_cache_the_second_time
    """,
    "chat": """
        user; name; seed; penalties; logit_bias | chat/parse::accepted
        thinking | chat/parse::thinking
        max_completion_tokens | chat/parse::refused[A]
        max_completion_tokens of GPT | chat/codec::gpt_message_has_its_nulls
        stream_options | chat/parse::refused[stream options]
        parallel_tool_calls | chat/parse::refused[parallel calls]
        google_search | chat/parse::refused[search is for Gemini]
        content parts | chat/messages::content_parts
        an old Llama and a list | chat/messages::refused_message[a list of parts, on an old Llama]
        model | chat/codec::answer_has_the_shape_of_the_reference
        id | chat/codec::answer_has_the_shape_of_the_reference
        nulls of GPT | chat/codec::gpt_message_has_its_nulls
        finish_reason | sampling::max_tokens_cut_is_a_length
        extra_fields | chat/codec::external_gemini_rates_its_safety
        logprobs | chat/codec::logprobs_weigh_every_token
        reasoning as a list | chat/codec::gpt_oss_thinks_aloud
        signatures | chat/codec::claude_thinks_on_request_and_signs
        summary_encrypted_text | chat/stream::thoughts_may_be_encrypted
    """,
    "chat stream": """
        framing | golden::exchange
        one id | chat/stream::stream_has_the_shape_of_the_reference
        role first | chat/stream::stream_has_the_shape_of_the_reference
        role in every chunk | chat/stream::role_stands_in_every_chunk
        the last delta | chat/stream::stream_has_the_shape_of_the_reference
        usage in every chunk | chat/stream::usage_style
        usage of Claude | chat/stream::claude_reports_usage_at_the_end
        usage of GPT | chat/stream::gpt_reports_usage_in_a_chunk_of_its_own
        usage of external GPT | chat/stream::external_gpt_reports_usage_on_request
        a tool call | tools::call_streams_name_first_and_arguments_in_fragments
        reasoning | chat/stream::stream_says_what_one_piece_says
        n | chat/stream::n_streams_interleaved
        logprobs | chat/stream::logprobs_stream_with_their_tokens
    """,
    "completions": """
        index is the prompt's | completions::index_is_the_position_of_the_prompt
        echo and suffix | completions::echo_and_suffix_go_around_the_text_for_free
        use_raw_prompt | completions::raw_prompt_has_no_template
        model, id, usage | completions::answer_has_the_shape_of_the_reference
        stream | completions::stream_says_what_one_piece_says
        one streamed prompt | completions::batches_do_not_stream_unless_allowed
        16 prompts | completions::field[a full batch]
        error_behavior error | completions::context_overflow
        error_behavior truncate | completions::truncate_returns_as_much_as_fits
        truncate and provisioned | completions::truncate_is_for_pay_per_token
    """,
    "embeddings": """
        index | embeddings::answer_has_the_shape_of_the_reference
        instruction | embeddings::instruction_changes_the_vector_and_is_counted
        encoding_format | embeddings::base64_holds_the_same_floats
        dimensions | embeddings::dimensions_shorten_where_the_model_can
        150 inputs | embeddings::field[more than a batch]
        unit length | embeddings::length_of_a_vector
        beyond the window | embeddings::long_input_is_cut_and_what_is_left_is_counted
    """,
    "Responses": """
        another model | responses/parse::other_models_have_no_responses
        null is absent | responses/parse::field[store left open]
        items | responses/input::item
        status on an item | responses/input::item[a status]
        ids of 64 characters | responses/input::item[a long id]
        ids that begin with fc | responses/input::item[a call with an id of another kind]
        a call among the blocks | responses/input::item[a call among the blocks]
        answer | responses/codec::answer_has_the_fields_of_the_reference
        usage | settings::switch_alone[both names of usage]
        incomplete | responses/codec::reaching_the_bound_is_incomplete
        order of events | responses/stream::text_streams_in_order
        a call | responses/stream::call_streams_in_order
        custom tools | responses/custom::the_text_fits
        incomplete stream | responses/stream::cut_stream_ends_incomplete
        failed | errors::late_error_of_a_response
        event lines and DONE | responses/stream::framing_depends_on_the_route
        include_usage | settings::switch_alone[usage on request]
    """,
    "guardrails": """
        personal data | workspace/policy::an_input_is_refused[personal data]
        keywords | workspace/policy::an_input_is_refused[a keyword]
        topics | workspace/policy::an_input_is_refused[another topic]
        safety | workspace/policy::an_input_is_refused[unsafe]
        the refusal's body | errors::guardrail_speaks_json_inside_its_message
        MASK of an input | workspace/policy::an_input_is_masked
        MASK of an output; not of a stream | workspace/policy::an_output_is_masked_unless_it_is_streamed
        BLOCK of an output | workspace/policy::an_output_is_refused
    """,
    "validation": """
        no JSON; no object | errors::bodies_that_are_no_object
        an unknown field | golden::exchange
        strict on a tool of Claude | tools::families_differ
        no messages | chat/messages::conversation[no messages]
        system once, first | chat/messages::conversation[system twice]
        roles | chat/messages::refused_message[a role nobody knows]
        content | chat/messages::refused_message[no content]
        tool_calls | chat/messages::refused_message[a user's call]
        tool_call_id | chat/messages::refused_message[a result of nothing]
        a result after its call | chat/messages::conversation[a late result]
        one result in a row | chat/messages::conversation[two results in a row]
        Claude takes several | chat/messages::claude_takes_several_results_in_a_row
        empty text for Claude | chat/messages::content_parts[empty text]
        32 tools | tools::tools[one too many]
        type of a tool | tools::tools[type]
        names are unique | tools::tools[a name twice]
        15 properties | tools::tools[a property too many]
        name of a function | tools::tools[no name]
        keywords of a schema | tools::strict_schemas_use_a_subset
        tool_choice without tools | tools::choice_without_tools_is_refused
        tool_choice of nothing | tools::tool_choice[a function that is not]
        required calls | tools::forced_call_has_valid_arguments
        none calls nothing | tools::none_calls_nothing
        n | sampling::several_answers_are_a_matter_of_the_profile
        ranges | chat/parse::refused
        top_logprobs | sampling::top_logprobs_is_bounded
        response_format | tools::response_format
        64 keys | tools::response_format[65 keys]
        GPT strict | tools::strict_schemas_of_gpt_are_named
        the word json | settings::further_limits[JSON word]
        reasoning_effort | chat/parse::efforts_of_each_family
        cache_control | chat/messages::cache_control_of_a_call_is_for_claude
        newest Claude | sampling::newest_claude_refuses_sampling
        picky GPT | settings::picky_gpt
        suffix, echo, use_raw_prompt | completions::field
        input of embeddings | embeddings::field[no texts]
        what Responses refuse | responses/parse::field[background]
        16 pairs of metadata | responses/parse::field[17 pairs]
        stream_options of Responses | responses/parse::field[stream options as a number]
        thought signatures | chat/messages::gemini_signs_its_calls_and_wants_the_signature_back
        alternating roles | settings::further_limits[alternating]
        one call per answer | tools::one_call_unless_parallel_calls_are_on
    """,
    "envelopes": """
        1 usual | errors::every_kind_is_worded
        2 numbers for codes | errors::credentials_are_refused_with_a_request_id
        3 management | errors::management_has_words_of_its_own
        4 external models | workspace/policy::an_external_model_words_its_own_errors
        5 plain text | errors::overrides_win
        6 rate limits | errors::documented_limit
        7 OAuth | workspace/auth::refused_token
    """,
    "errors": """
        400 BAD_REQUEST | errors::own_words[parameter]
        400 INVALID_PARAMETER_VALUE | errors::management_has_words_of_its_own[a bad value]
        401 | errors::own_words[401]
        403 of a token | golden::exchange
        403 PERMISSION_DENIED | errors::own_words[forbidden]
        404 ENDPOINT_NOT_FOUND | errors::own_words[no endpoint]
        404 RESOURCE_DOES_NOT_EXIST | errors::management_has_words_of_its_own[missing]
        404 an unknown path | errors::missing_paths[an unknown API]
        409 RESOURCE_ALREADY_EXISTS; 409 RESOURCE_CONFLICT | workspace/changes::nothing_is_changed_twice_at_once
        413 | errors::payload_limit
        429 | errors::own_words[input tokens]
        500 | errors::own_words[internal]
        503 | errors::own_words[overloaded]
        504 | errors::own_words[timeout]
        400 of a stopped endpoint | request::endpoints_that_are_not_up
        late, of a chat | errors::late_error_of_a_chat
        Claude's own | native/anthropic::refused
        Gemini's own | native/gemini::refused
    """,
    "rate limits": """
        input tokens per minute | errors::own_words[input tokens]
        output tokens per minute | errors::own_words[output tokens]
        QPS | errors::own_words[QPS]
        other windows | errors::a_limit_is_named_by_its_unit_and_window
        calls at once | errors::calls_at_once_have_no_documented_body
        the documented body | errors::documented_limit
        Retry-After | errors::retry_after_is_in_whole_seconds
        reserved and given back | workspace/limits::output_is_reserved_and_given_back
        the tightest wins | limits/test_gate.py::test_a_refusal_names_the_quota_that_takes_longest
        QPH | workspace/limits::requests_of_an_hour
        pay-per-token alone | workspace/limits::what_a_workspace_provisions_has_no_such_limits
        autumn's raise | workspace/limits::a_raise_is_for_some
        of the gateway | workspace/limits::limits_through_the_api_come_on_top
    """,
    "length errors": """
        prompt of Databricks' server | completions::context_overflow
        prompt of Claude | sampling::prompt_beyond_the_context_is_refused
        output of Llama | golden::exchange
        output of newer models | sampling::output_limit_is_worded_by_family[gpt-oss]
        output of Claude | sampling::output_limit_is_worded_by_family[Claude]
        output of GPT | sampling::output_limit_is_worded_by_family[GPT]
    """,
    "catalogue": """
        meta-llama-3-3-70b-instruct; meta-llama-3-1-8b-instruct | catalogue::an_endpoint_has_what_is_published_of_it
        meta-llama-3-1-405b-instruct; llama-4-maverick | catalogue::an_endpoint_has_what_is_published_of_it
        gemma-3-12b; gpt-oss-120b; gpt-oss-20b | catalogue::an_endpoint_has_what_is_published_of_it
        qwen3-next-80b-a3b-instruct; qwen35-122b-a10b | catalogue::an_endpoint_has_what_is_published_of_it
        claude-haiku-4-5; claude-sonnet-4; claude-sonnet-4-5 | catalogue::an_endpoint_has_what_is_published_of_it
        claude-sonnet-4-6; claude-opus-4-1; claude-opus-4-5 | catalogue::an_endpoint_has_what_is_published_of_it
        claude-opus-4-8; gpt-5; gpt-5-2; gpt-5-4; gpt-5-4-nano | catalogue::an_endpoint_has_what_is_published_of_it
        gpt-5-5-pro; gemini-2-5-pro; gemini-2-5-flash | catalogue::an_endpoint_has_what_is_published_of_it
        gemini-3-1-pro; bge-large-en; gte-large-en | catalogue::an_endpoint_has_what_is_published_of_it
        qwen3-embedding-0-6b; mpt-7b-instruct | catalogue::an_endpoint_has_what_is_published_of_it
        mixtral-8x7b-instruct; dbrx-instruct; llama-2-70b-chat | catalogue::an_endpoint_has_what_is_published_of_it
        the long tail | catalogue::every_endpoint_answers
        codex | catalogue::codex_answers_responses_only
        Sonnet 4's own limit | sampling::sonnet_4_stops_at_its_own_limit
        retired ones | request::endpoints_that_are_not_up
    """,
    "limits": """
        payload | errors::payload_limit
        payload of custom models | errors::a_custom_model_takes_four_times_as_much
        200 queries a second | workspace/limits::a_workspace_answers_two_hundred_queries_a_second
        execution time | workspace/idle::what_takes_too_long_is_given_up
        provisioned concurrency of a model | workspace/config::refused_entities[too many calls at once]
        endpoints of a workspace | workspace/changes::a_workspace_has_room_for_a_thousand
        environment variables | workspace/config::refused_entities[51 variables]
        tools | tools::tools[one too many]
        embeddings batch | embeddings::field[more than a batch]
        completions batch | completions::field[more than a batch]
        metadata pairs | responses/parse::field[17 pairs]
        rules of a gateway | workspace/told::refused_limits[too many]
    """,
    "traps": """
        1 discovery | workspace/endpoints::discovery_leads_to_the_token
        2 a slash at the end | conformance/test_databricks_mlflow.py::test_endpoints_are_listed_and_got
        3 nothing but data lines | responses/stream::framing_depends_on_the_route
        4 finishReason; 5 the object's enum | conformance/test_databricks_sdk.py::test_chat_is_queried
        7 retried for five minutes | conformance/test_retries.py::test_databricks_gives_up_after_its_own_patience
        8 whole seconds | errors::retry_after_is_in_whole_seconds
        9 a wrong token is a 403 | workspace/auth::credentials[the wrong token]
        10 no v1 | errors::openai_routes_need_a_model
        11 base64 | conformance/test_databricks_openai.py::test_embeddings_have_unit_length
        12 LiteLLM reads usage | conformance/test_databricks_litellm.py::test_chat_and_stream_usage
        13 formats in a stream | conformance/test_databricks_litellm.py::test_structured_output
        14 LiteLLM logs in | conformance/test_databricks_litellm.py::test_it_logs_in_as_an_application
        15 strict is stripped | conformance/test_databricks_openai_client.py::test_tools_go_there_and_back
        16 any key | conformance/test_databricks_openai_client.py::test_chat
        17 LangChain | conformance/test_databricks_langchain.py::test_stream_with_usage
        18 usage may be null | chat/stream::usage_style
        19 content in each delta | chat/stream::stream_has_the_shape_of_the_reference
        20 arguments are texts | tools::forced_call_has_valid_arguments
        21 the first delta | tools::call_streams_name_first_and_arguments_in_fragments
        22 lists for content | chat/stream::stream_traits
        23 no id | workspace/details::refused_details[a preconfigured endpoint]
        24 DELETE has a body | workspace/changes::an_endpoint_of_the_scenario_is_changed_and_deleted
        25 both keys of a state | workspace/endpoints::states_of_endpoints
        26 a line end | sampling::output_limit_is_worded_by_family[gpt-oss]
        27 JSON in a message | errors::guardrail_speaks_json_inside_its_message
        28 no key for discovery | workspace/endpoints::discovery_asks_for_nothing
    """,
}

LEFT_OUT: dict[str, str] = {
    "http_request, POST /external-function": "external functions call other services; the README says so",
    "SQL functions": "`ai_query` and its kin run in a warehouse, not on this wire; the README says so",
    "inference and usage tables": "their settings are kept and shown; there is no table to write to",
    "groups of users": "no directory of groups; `users` alone has members",
    "501 of a workspace without the gateway": "there always is one; a rule says `status: 501` where it is wanted",
    "databricks_service_policy": "policies of an account; a rule's `body` says one where it is wanted",
    "request tags of the gateway": "headers that only the usage tables of the gateway show",
    "api_types as paths": "other paths than those of the table above are in no source",
    "50 creations and updates in five minutes": "a limit on operators, in whose way it would only stand here",
    "4,096 calls at once of a workspace": "added up over what is provisioned; only a model's own bound is checked",
    "300,000 queries a second of route-optimized endpoints": "more than one process of any server answers",
    "bodies above 1 MB are not logged": "payload logging goes to inference tables",
    "overhead below 50 ms": "no rule on the wire; a scenario says each latency",
    "system_update_failure": "seen without its form; a failed update says UPDATE_FAILED",
    "UPDATE_CANCELED, DEPLOYMENT_ABORTED": "states of a cancelled update, which no method asks for",
    "DEPLOYMENT_RECOVERING": "a state between two others that nothing here goes through",
    "Model response did not respect the required format": "answers fit their format; a rule says it where wanted",
    "model output appended to that text": "as above",
    "image generation tools of Responses": "built-in tools are taken and never run",
    "roles of private preview": "alternation is a switch, off as now",
    "trap 6": "the SDK's own query() cannot stream; nothing to serve",
    "trap 29": "two ways to log in are refused by the client before any request",
    "trap 30": "a deprecated helper of the SDK",
    "databricks-genai-inference": "withdrawn by its maker; its fields are those of the reference's completions",
    "redirects of retired models": "each retired model goes on under its own name",
    "a token's actions": "an address opens to query; no other action has one",
}

COUNTS: dict[str, int] = {
    "REST reference: chat request": 14,
    "REST reference: Responses": 33,
    "where reference and service differ": 22,
    "management routes": 26,
    "validation": 43,
    "envelopes": 7,
    "errors": 19,
    "catalogue": 35,
    "limits": 12,
    "traps": 27,
}
"""How many rows the tables have that are shown in full."""
