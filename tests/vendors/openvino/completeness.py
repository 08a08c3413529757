"""Every row of the tables of OpenVINO Model Server's wire: the test that shows it, or why it is left out."""

TESTS: dict[str, str] = {
    "routes": """
        POST chat/completions | golden::golden
        POST v3/v1 alias; POST v1 alias | request::path
        POST completions | completions::call
        POST embeddings | embeddings::input
        POST rerank | rerank::request
        POST responses | responses/parse::request
        POST tokenize | tokenize::ids
        GET models | catalogue::list
        GET models/id | catalogue::retrieve
        POST images/generations | media/images::generation
        POST images/edits | media/images::edits
        POST audio/speech | media/audio::speech
        POST audio/transcriptions | media/audio::listening
        POST audio/translations | media/audio::listening_by_release
        POST v3/anything | request::the_graph_decides_what_a_path_means
        GET v2 | catalogue::server
        GET v2/health/live | catalogue::live
        GET v2/health/ready | catalogue::ready
        GET v2/models | catalogue::model
        GET v2/models/ready | catalogue::model_ready
        POST v2/models/infer | classic/kserve::an_answer_to_the_blank
        GET v1/config | catalogue::config
        POST v1/config/reload | catalogue::reload
        GET v1/models | catalogue::status
        GET v1/models/metadata | classic/predict::metadata
        POST v1/models:predict | classic/predict::answers_to_the_blank
        GET metrics | catalogue::metrics
        OPTIONS | request::method
    """,
    "methods and unknown paths": """
        another method; OPTIONS before 2025.3; an unknown path | request::method
        POST where only GET is; GET where only POST is | request::method
        GET on a generative path; GET v3/models | request::method
        a path that climbs | request::a_path_that_climbs
    """,
    "authentication and CORS": """
        no keys before 2025.4 | request::no_key_is_asked_for_elsewhere
        Bearer and one space | request::key
        before the body | request::a_key_is_asked_for_before_the_body_is_read
        500 or a switch | request::the_status_of_a_wrong_key_is_a_switch
        generation alone | request::only_generation_is_protected
        three headers | request::cors_headers
    """,
    "management": """
        not ready | catalogue::ready
        a graph's tensors | catalogue::graphs_take_no_tensors
        a classic model's tensors | catalogue::classic_models_show_their_tensors_where_the_scenario_says_them
        no status | catalogue::no_status
        errors of a reload | errors::an_injected_failure_of_a_reload
        metrics off | catalogue::metrics_are_off_by_default
        families of metrics | catalogue::metrics_have_every_family_once
        what metrics count | metrics::counts
        of classic models | metrics::inferences_of_a_classic_model_by_the_way_they_were_asked_for
        current graphs and requests | metrics::what_is_running_stands_under_its_graph
    """,
    "order of checks": """
        model, stream, graph | request::body
        stream only by its path | request::stream_is_looked_at_only_where_the_path_speaks_of_completions
        an event stream from there on | errors::only_what_a_graph_refuses_is_part_of_a_stream
        fields of 2025.0 | text/fields::field_of_2025_0
        fields of 2026.3 | text/fields::field_of_2026_3
        messages, then the engine | text/fields::the_engine_looks_after_the_messages
        pictures after fields | text/checks::fields_come_before_the_refusal_of_pictures
        levels | request::nesting
    """,
    "numbers": """
        uint32; uint64; int32 | text/fields::number_classes
        number | reader::a_number_is_what_its_literal_says
        equal keys | request::of_equal_keys_the_first_counts
        no more than JSON | reader::it_refuses
        what RapidJSON alone takes | reader::it_takes
        null | text/fields::null
    """,
    "fields of 2025.0": """
        model; messages; stream; stream_options; include_usage; max_tokens; ignore_eos; stop | reference::field
        include_stop_str_in_output; logprobs; best_of; n; diversity_penalty; length_penalty | reference::field
        repetition_penalty; temperature; top_p; top_k; frequency_penalty; presence_penalty | reference::field
        seed; num_assistant_tokens; assistant_confidence_threshold | reference::field
        max_completion_tokens; cap of ignore_eos | cases::chat
        unsupported ones | reference::field_that_is_passed_over
        speculative: neither, both, not one | text/fields::speculative_graph
        beams, samples or greedy | sampling::greedy
    """,
    "messages": """
        members that are texts; role and content | text/checks::messages
        content that is an array | text/checks::messages
        content that is no text | text/checks::content_that_is_no_text
        pictures | text/checks::pictures
        several texts | text/checks::several_texts
        the stock template | text/messages::stock_template
        pictures on a text graph | text/messages::a_text_graph_ignores_pictures_and_later_refuses_them
        where pictures may come from | text/messages::where_pictures_may_come_from
        restricted tags | text/checks::tags
        input_audio | text/checks::sounds
        tool_calls | text/messages::turns_with_tools_are_read
    """,
    "the engine's check": """
        top_k 0; top_p 0; repetition_penalty | text/fields::engine
        both speculative fields | text/fields::later_speculative_graphs_need_neither_field_and_the_engine_refuses_both
        anything else | errors::words
    """,
    "fields of 2026.3": """
        stop; seed; min_p | cases::chat
        max_tokens | text/fields::limits_of_the_graph_are_settings_and_traits
        its limit | text/fields::a_later_limit_is_also_the_default_and_includes_itself_for_max_completion_tokens
        ignore_eos | text/fields::field_of_2026_3
        top_k | release::the_default_of_top_k_is_40_since_2026_2
        skip_special_tokens | tools::with_special_tokens_shown_nothing_is_read_out_of_the_text
        speculative fields | text/fields::later_speculative_graphs_need_neither_field_and_the_engine_refuses_both
        tools | tools::tools_by_release
        tool_choice | tools::tool_choice
        response_format | tools::response_format
        formats that are followed | text/formats::forms
        chat_template_kwargs | tools::template_options_are_an_object
        modalities, audio, chunk_frames | media/audio::a_text_graph_checks_what_is_said_of_sound_and_has_no_use_for_it
        prompt length | text/messages::prompt_and_answer_against_the_length
        prompt length, batched tokens and NPU | text/messages::prompt_against_the_lengths
    """,
    "answers": """
        2025.0 | text/codec::chat
        2026.3 | text/codec::thoughts_and_tool_calls
        numbers | text/codec::number
        logprobs | text/codec::chat_logprobs
        a graph without parsers | text/codec::a_graph_without_parsers_leaves_calls_and_thoughts_in_the_text
        headers | text/codec::headers
        a stream of 2024.2 | text/stream::2024_2_closes_with_an_empty_delta_and_loses_what_follows_the_last_blank
        a stream of 2025.0 | text/stream::2025_0
        a stream of 2026.3 | text/stream::2026_3
        usage | text/stream::usage_goes_out_with_the_last_chunk_and_the_end
        every release | golden::golden
    """,
    "a stream that fails": """
        status by release | text/fields::status_of_an_error_in_a_stream
        2024.2 without escapes | text/fields::2024_2_does_not_escape_an_error_in_a_stream
        midway | server::a_failure_midway_is_a_bare_object_at_the_end
    """,
    "errors": """
        no JSON, no object, no model | request::body
        too deep | request::nesting
        unknown, retired or loading | request::graph
        not generative | request::a_graph_that_does_not_generate
        a field | errors::the_literal_body_of_a_failed_calculator
        another path | request::path
        a context too long | errors::a_context_that_is_too_long_in_name_alone
        a wrong key | request::key
        a broken form | media/images::a_form_that_is_none
        no model | request::content_type
        a precondition | errors::a_failed_precondition_is_a_412
        node names | embeddings::node_names
        content types | request::content_type
        forms by their model | request::a_form_names_its_graph
        headers | server::neither_date_nor_server
    """,
    "completions": """
        prompt | completions::prompt_missing
        logprobs | completions::logprobs
        logprobs of a stream | completions::logprobs_of_a_stream
        echo | completions::echo_with_logprobs_covers_the_prompt
        max_tokens 0 | server::nothing_but_the_echo
        max_completion_tokens | completions::call
        answer | completions::answer
        stream | text/stream::completions
        stream of an echo | text/stream::an_echo_opens_the_stream_whole
        vision graphs | completions::vision_graphs_have_no_completions
    """,
    "embeddings and rerank": """
        input | embeddings::input
        empty arrays | embeddings::empty_arrays_are_named_later_and_fail_inside_before
        length | embeddings::length
        one array of ids | embeddings::one_array_of_ids_is_one_document
        floats | embeddings::floats
        base64 | embeddings::base64
        unit vectors | server::embeddings_are_unit_vectors_of_the_graph
        rerank's fields | rerank::request
        documents | rerank::too_many_documents
        chunks | rerank::too_many_chunks
        order and top_n | rerank::top_n
        return_documents | rerank::documents_are_returned_as_objects
    """,
    "models, tokenize, responses": """
        order of keys | catalogue::list
        unknown | catalogue::retrieve
        tokenize's fields | tokenize::refusal
        tokens | tokenize::length
        input | responses/parse::request
        part types | text/checks::parts_of_responses
        n in a stream | responses/parse::more_answers_than_one_do_not_stream
        answer | responses/codec::answer
        incomplete | responses/codec::an_answer_cut_off_is_incomplete
        items | responses/codec::items_of_an_answer
        stream | responses/stream::stream
        failed | responses/stream::a_failure_midway_is_an_event
    """,
    "images and audio": """
        fields | media/images::generation
        by release | media/images::generation_by_release
        bytes | media/images::bytes_of_an_answer
        edits | media/images::edits_are_drawn
        not built | media/images::what_draws_has_to_be_built
        the engine's failure | media/images::a_picture_too_large_is_the_engines_failure
        speech | media/audio::speech_is_a_wav_file
        text and times | media/audio::times_of_words_and_segments
        stream | media/audio::a_stream_to_the_byte
        omni | media/audio::an_omni_graph_says_its_answer
    """,
    "releases": """
        aliases; embeddings, rerank; models list; images; responses | release::endpoints_by_release
        API key; CORS, OPTIONS | release::keys_and_origins_by_release
        edits | media/images::edits_are_drawn
        audio | media/audio::listening_by_release
        content type and URI | request::content_type
        stream error status | settings::matrix[stream error status]
        unary usage | settings::matrix[unary usage]
        length | settings::matrix[length]
        stop | settings::matrix[stop]
        max_tokens_limit | settings::matrix[max_tokens_limit]
        ignore_eos | settings::matrix[ignore_eos]
        integers as floats | settings::matrix[integers as floats]
        null | settings::matrix[null]
        temperature | settings::matrix[temperature]
        max_completion_tokens | settings::matrix[max_completion_tokens]
        speculative | settings::matrix[speculative]
        diversity_penalty | settings::matrix[diversity_penalty]
        messages | text/checks::messages
        model length | settings::matrix[model length]
        tools | tools::tools_by_release
        response_format | settings::matrix[response_format]
        key order | settings::matrix[key order]
        handshake | settings::matrix[handshake]
        chunk split | settings::matrix[chunk split]
        seed | settings::matrix[seed]
        top_k, min_p, skip_special_tokens | settings::matrix[top_k, min_p, skip_special_tokens]
        not ready | settings::matrix[not ready]
        metrics | settings::matrix[metrics]
        TensorFlow Serving | release::tensorflow_serving_is_gone_in_2026_3
        names of releases | settings::aliases
        every release's bytes | golden::golden
    """,
    "decisions": """
        1 release of the manual | settings::aliases
        2 the manual's sample | golden::golden
        3 usage; 4 logprobs; 5 created | reference::field
        6 order in usage | text/codec::chat
        7 top_p 0 | text/fields::engine
        8 top_k -1 | reference::field
        9 ignore_eos alone | text/fields::field_of_2025_0
        10 max_tokens; 11 best_of | reference::field
        12 content | text/checks::messages
        13 max_completion_tokens | cases::chat
        14 stream error status | text/fields::status_of_an_error_in_a_stream
        15 stop | cases::chat
        16 embeddings without model | embeddings::floats
        17 how many documents | rerank::too_many_documents
        18 a wrong key | request::the_status_of_a_wrong_key_is_a_switch
    """,
    "traps": """
        1 the manual's sample | golden::golden
        2 extra_body | conformance/test_openvino_openai.py::test_fields_of_the_server_go_in_the_extra_body
        3 the base URL | conformance/test_openvino_openai.py::test_the_alias_works_as_base_url
        4 no id | conformance/test_openvino_openai.py::test_chat
        5 errors that are texts | conformance/test_openvino_openai.py::test_errors
        6 what is tried again | conformance/test_openvino_openai.py::test_a_wrong_key_is_a_server_error
        7 silence | conformance/test_openvino_openai.py::test_an_error_in_a_stream_of_2025_0_is_silence
        8 no role | conformance/test_openvino_openai.py::test_stream
        9 no list | conformance/test_openvino_openai.py::test_the_list_of_models_is_unknown_to_2025_0
        10 n | cases::chat
        11 max_tokens null | conformance/test_openvino_openai.py::test_errors
        12 stop | cases::chat
        13 limits; 14 include_stop_str_in_output | reference::field
        15 odd statuses | request::method
        16 the path hardly matters | conformance/test_openvino_cohere.py::test_rerank
        17 a trailing slash | request::path
        18 base64 | conformance/test_openvino_openai.py::test_embeddings
        19 rerank | conformance/test_openvino_cohere.py::test_rerank
        20 numbers | embeddings::small_floats_are_doubles_without_padded_exponents
        21 created | text/stream::no_split_loses_text_or_goes_back_in_time
        22 no comments | text/stream::2025_0
        23 text_completion.chunk | text/stream::completions
        24 | catalogue::live
        25 no event lines | conformance/test_openvino_openai.py::test_responses
    """,
    "cases": """
        1; 2; 4; 5 | cases::what_never_reaches_a_graph
        7 | request::a_graph_that_does_not_generate
        8 | request::nesting
        10; 11; 13; 14; 16; 17; 19; 20; 22; 23; 25; 26; 29; 31; 32; 34; 35; 37; 38; 40; 41; 43; 44; 46 | cases::chat
        49; 50; 52; 53; 56; 59; 61; 62; 65; 73; 74; 76; 77; 79; 80; 82; 83; 88 | cases::chat
        28 | catalogue::graphs_take_no_tensors
        47 | server::beams_become_choices
        55 | server::stop_strings_end_every_beam
        58 | server::a_stream_keeps_its_stop_string
        64 | text/stream::finish_reason_length_and_only_at_the_end
        67; 68; 70; 71 | cases::completions
        71, its answer | server::nothing_but_the_echo
        85 | text/fields::null
        86 | text/messages::prompt_and_answer_against_the_length
        91; 92 | embeddings::input
        94 | embeddings::base64
        95 | embeddings::length
        97 | rerank::too_many_documents
        98 | rerank::top_n
        100 | catalogue::retrieve
        101 | request::key
        103; 104 | responses/parse::request
        104, in a stream | responses/parse::more_answers_than_one_do_not_stream
        106 | request::method
        107 | catalogue::config
    """,
}

LEFT_OUT: dict[str, str] = {
    "gRPC, both kinds": "only HTTP is served; the metrics have no series of it",
    "ovms_graph_request_latency_us": "a time within a graph that is off unless listed; nothing here is within a graph",
    "the choice of families (metrics_list)": "all but the one above are shown, the optional ones of the queue too",
    "counts of metadata and of readiness": "metrics count inferences alone",
    "429 and 503 of a full queue": "the server has none; a full queue only waits, which a scenario's load says",
    "sound in the stream of a chat": "the sound of an omni graph goes out whole: with one answer and in Responses",
    "pictures fetched from elsewhere": "no network; what may be fetched is checked, then refused as not downloaded",
    "pictures as files of the server": "no folder of the server is a client's; paths are checked, then refused",
    "LoRA adapters of image graphs": "no graph has any, so every weight is refused in the server's words",
    "image checks of an NPU": "its shapes are compiled into the model",
    "pipelines of several models (DAG)": "their own configuration; to a client they are classic models",
    "sequences of stateful models": "a classic model here keeps nothing between calls",
    "EBNF grammars and Qwen's XML parameters": "forms that are taken and not enforced, as by an engine that cannot",
    "the last of equal keys inside a message": "seen nowhere but in a template that prints unknown members",
    "texts cut at an escaped NUL": "such a text is kept whole; a NUL in the body itself ends it",
    "Calculator::Open() in words of failures": "a graph that does not open reports LOADING and is not called",
    "500 with an empty body": "an exception of the server; ours answer as ours",
    "413 of a body over 1 GiB": "no test of seconds holds such a body; smaller ones are read",
    "CANCELLED, written as the client goes": "nobody is there to read it; a gone client stops any vendor's answer",
    "API_KEY of the environment": "a shell's variable must not decide what a test sees; keys stand in the scenario",
    "a second content type in 2025.0": "inferred, and unverified on the wire",
    "the wrapping of the engine's assertions": "unverified; the reason is there",
    "an empty reason phrase": "unverified; clients read the number",
    "gzip": "unverified",
    "model accepts string values (rerank)": "the front door has refused such a model before",
}

COUNTS: dict[str, int] = {
    "routes": 29,
    "fields of 2025.0": 28,
    "fields of 2026.3": 17,
    "the engine's check": 5,
    "releases": 36,
    "decisions": 18,
    "traps": 25,
    "cases": 73,
}
"""How many rows the tables have that are shown in full."""
