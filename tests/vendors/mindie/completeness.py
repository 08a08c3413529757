"""Every row of the tables of MindIE's wire, and of TGI's beside it: the test that shows it, or why it is left out."""

_HUB = "conformance/test_tgi_huggingface_hub.py::test"
_CLIENT = "conformance/test_tgi_text_generation.py::test"
_LOAD = "conformance/test_tgi_load_clients.py::test"
_CHAT = "conformance/test_mindie_openai.py::test"

TESTS: dict[str, str] = {
    "planes": """
        business; management; metrics | management::planes_apart_serve_their_own_routes_alone
    """,
    "routes": """
        POST / | reference::field
        POST /generate | vllm::prompt_wins_over_inputs
        POST /generate_stream | generate/stream::routes_beside_the_root
        POST /v1/chat/completions | chat/codec::chat
        POST /v1/completions | completions::completions_of_ids
        GET /v1/models, one model | golden::golden
        POST /infer, /infer_token | native::native
        POST /v2/models/infer | triton::triton
        POST /v2/models/generate, generate_stream | triton::triton
        POST /v2/models/stopInfer | ids::triton_is_stopped_by_the_id_of_its_body
        POST /v1/tokenizer | catalogue::tokens_are_always_a_list
        GET /v2, its models, config, ready, getSlotCount | golden::golden
        GET /health and its likes | catalogue::health
        GET /info | golden::golden
        GET /metrics, /metrics-json | metrics::metrics
        stopService, config, status, adapters | management::a_service_is_stopped_for_good
    """,
    "HTTP": """
        a route there is not | errors::route_miss_is_an_empty_404
        no key | errors::credentials_are_ignored
        content type | request::content_type_does_not_matter
        a body too large | request::body_of_more_than_forty_megabytes
        head of an answer | generate/codec::head_of_an_answer
        bytes of a stream | generate/stream::stream_bytes
        req-id | ids::a_stream_of_tgis_form_ends_by_its_header
        beyond workers and queue | metrics::a_request_beyond_workers_and_queue_loses_its_connection
        timed health | catalogue::timed_health
        health of a stopped server | management::a_service_is_stopped_for_good
    """,
    "management": """
        stopService | management::a_stop_waits_for_what_runs
        mode=Force | management::a_forced_stop_cuts_what_still_runs_after_five_seconds
        stopInfer refused | ids::stops_that_are_refused
        fault handling | management::an_engine_is_paused_set_up_and_started
        a paused engine | management::an_engine_that_is_paused_says_nothing
        roles | management::a_node_takes_another_role
        adapters | management::an_adapter_is_loaded_used_and_unloaded
        results | management::results_are_read_from_decode_nodes_alone
    """,
    "Coordinator": """
        too many requests | errors::rate_limit_is_the_coordinators
        inputs that are no text | request::coordinator_refuses_what_it_cannot_tell
        not ready; request timeout; internal | errors::coordinator
        memory | errors::coordinator_without_memory
        a path it does not know | errors::coordinator_does_not_know_a_path
        what a node says | errors::coordinator_passes_on_what_a_node_says
        probes | catalogue::probes_of_the_coordinator
    """,
    "top level": """
        inputs; parameters; stream | reference::field
    """,
    "parameters": """
        stop | generate/fields::out_of_range[a list with a number]
        temperature | generate/fields::out_of_range[temperature of a millionth]
        top_k | generate/fields::out_of_range[top_k -1 in spite of the words]
        top_p | generate/fields::out_of_range[top_p 1.0 in spite of the words]
        typical_p | generate/fields::out_of_range[typical_p above one]
        do_sample | generate/fields::sampling
        seed | generate/fields::out_of_range[seed 0]
        repetition_penalty | generate/fields::out_of_range[repetition_penalty 0]
        watermark | generate/fields::what_the_text_depends_on[nor has watermark]
        adapter_id | generate/fields::out_of_range[an adapter's name of 257 characters]
        max_new_tokens | generate/fields::out_of_range[new tokens of 33 bits]
        details | generate/codec::details
        decoder_input_details | reference::field
        return_full_text | generate/codec::full_text_in_front
        truncate | generate/fields::out_of_range[truncate of 33 bits]
        stream and decoder_input_details | generate/fields::input_details_do_not_stream
        prefill and decode apart | generate/fields::not_where_prefill_and_decode_are_apart
    """,
    "order and types": """
        order of checking | generate/fields::first_failure_is_told
        type errors | generate/fields::wrong_type
        null is absent | generate/fields::accepted[every field null]
        fields nobody knows | generate/fields::accepted[fields nobody knows]
    """,
    "other checks": """
        no JSON | generate/parse::refused[half a document]
        stream | generate/parse::refused[stream as a text]
        stopped | management::a_service_is_stopped_for_good
        no inputs | generate/parse::refused[no inputs]
        inputs of another type | generate/parse::refused[an object]
        an empty list | generate/parse::refused[an empty list]
        elements of a list | generate/inputs::media_refused
        no UTF-16 | generate/parse::refused[half a surrogate pair]
        length | generate/inputs::length_is_counted_in_code_units
        media | generate/inputs::picture_of_more_than_twenty_megabytes
        count of tokens | request::prompt_too_long
        the parameters | generate/parse::parameters_are_checked_before_the_engine_is_asked
        a token beyond the vocabulary | native::native_refused
        beyond the weights | request::prompt_too_long
        beyond the server | request::prompt_too_long
        internal failure | errors::every_kind_has_words
    """,
    "media": """
        image_url | generate/inputs::media_taken[a picture in base64]
        video_url | generate/inputs::media_refused[a film of another type]
        audio_url | generate/inputs::media_refused[a sound of another type]
    """,
    "checks of media": """
        text | generate/inputs::media_refused[a text that is a number]
        a key that is null | generate/inputs::media_refused[no picture]
        more than twenty | generate/inputs::twenty_media_of_all_kinds_together
        type | generate/inputs::media_refused[a smell]
        form | generate/inputs::media_refused[neither path nor base64]
        size | generate/inputs::picture_of_exactly_twenty_megabytes
    """,
    "interplay": """
        details and prefill | generate/codec::details
        truncate | generate/parse::truncate
        truncate first | generate/parse::truncate_lets_a_long_prompt_pass
        text in front | generate/codec::full_text_in_front
        limit | request::limit
        stop | answer::end
        stop in a stream | generate/stream::stop_held_back_while_streaming
        an adapter nobody knows | generate/parse::adapter
        seed | generate/codec::seed_is_echoed_exactly_and_drawn_anew_each_time
        control characters | generate/stream::control_characters_leave_the_text_only
        greedy or not | generate/fields::sampling
    """,
    "answers": """
        text | generate/codec::plain_text
        text with details | generate/codec::documented_text_sample
        stream | generate/stream::documented_stream_sample
        stream of full texts | generate/stream::documented_full_text_sample
        details of a stream | generate/stream::details_of_a_stream_need_details
        vLLM | vllm::vllm
        native | native::native
        Triton | triton::triton
        chat | chat/codec::chat
        chat, streamed | chat/stream::chat_stream
        completions | completions::completions_word_their_choices_their_own_way
    """,
    "finish_reason": """
        eos_token; stop_sequence; length | answer::end
        invalid marker | answer::invalid_marker_is_sent_only_on_request
    """,
    "error bodies": """
        400; 404; 422; 424; 500; 503 | errors::class_follows_the_status
        other shapes | errors::shapes
        inside a stream | errors::failure_inside_a_stream_is_bare_text
        headers that are demanded | request::node_behind_a_coordinator_asks_for_headers
    """,
    "TGI beside it": """
        body of POST /; body of POST /generate | tgi:generate/codec::array_at_the_root_and_object_elsewhere
        default of return_full_text | tgi:generate/parse::prompt_in_front
        prompt echo | tgi:generate/parse::prompt_in_front
        order of keys; keys of details; token | tgi:generate/codec::details
        token of a prefill | tgi:generate/codec::prefill
        token.id of a stream; events of a stream; details of a stream; framing | tgi:generate/stream::stream
        keep-alive | tgi:alive::silence_is_broken_every_fifteen_seconds
        headers of a stream | tgi:golden::golden
        refused while streaming | tgi:sampling::refused_in_a_stream
        seed when greedy | tgi:generate/codec::seed
        stop text; finish_reason on stop | tgi:generate/codec::stop_stays_in_the_text
        error_type | tgi:errors::words
        forms of stop | tgi:sampling::refused[five stops]
        null | tgi:decoder::mismatch[null do_sample]
        extra parameters | tgi:generate/codec::top_tokens
        default of max_new_tokens | tgi:request::limit
        GET / | tgi:catalogue::small_routes
        grammar and adapters | tgi:grammar::json_grammar
    """,
    "TGI": """
        statuses | tgi:errors::words
        texts of validation | tgi:sampling::refused
        texts of a length there is no room for | tgi:request::room
        what is no JSON | tgi:decoder::where_the_body_is_no_json
        what does not fit | tgi:decoder::mismatch
        what does not fit before what is no JSON | tgi:decoder::what_does_not_fit_comes_before_what_is_no_json
        no JSON content type | tgi:decoder::other_content_type
        limits of the launcher | tgi:errors::payload_of_more_than_two_megabytes
        headers of 3 | tgi:headers::headers
        headers of 0.9.4 | tgi:headers::headers_of_the_old_release
        routes of 3 | tgi:catalogue::small_routes
        routes of 0.9.4 | tgi:routes::a_later_route_is_not_there_in_0_9_4
        keys | tgi:errors::keys
        info | tgi:catalogue::info
        metrics | tgi:metrics::only_inference_counts
        too many at once | tgi:metrics::more_requests_than_may_run_are_refused
    """,
    "tokens": """
        samples | generate/codec::documented_text_sample
        ids that decode again | native::native
        begin of a sequence | generate/parse::truncate_with_a_begin_of_sequence_token
        end of a sequence | reference::field
        media | generate/codec::prefill_of_media
    """,
    "what clients accept": f"""
        generate; its details; generate_stream | {_CLIENT}_what_the_client_reads_of_mindie
        huggingface-hub | {_HUB}_details
        LangChain | {_HUB}_langchain
        a bare object | generate/codec::plain_text
    """,
    "programs": f"""
        text-generation | {_CLIENT}_generate
        huggingface-hub | {_HUB}_text
        LangChain | {_HUB}_langchain
        AISBench | {_LOAD}_aisbench_reads_text_and_stream
        AIPerf | {_LOAD}_aiperf_joins_the_tokens
        vLLM's benchmark | {_LOAD}_vllms_benchmark_reads_generate_stream
        OpenAI's client | {_CHAT}_chat_stream
        samples of the manuals | generate/codec::documented_text_sample
    """,
    "decisions": """
        1 seed | generate/fields::accepted[the largest seed]
        2 temperature and top_p | generate/fields::accepted[temperature just above a millionth]
        3 length of inputs | generate/inputs::default_bound_is_four_megabytes_of_characters
        4 invalid marker | answer::invalid_marker_is_sent_only_on_request
        5 stop_sequence | reference::field
        6 error bodies | errors::shapes
        7 an adapter without a name | generate/fields::out_of_range[an adapter without a name]
        8 size of media | generate/inputs::picture_of_exactly_twenty_megabytes
        9 a prompt too long | request::prompt_too_long
        10 a list of stops | generate/fields::out_of_range[a list with a number]
        11 prefill without texts; 12 details of a stream | reference::field
        13 two tokenizers | generate/stream::documented_stream_sample
        14 max_new_tokens | generate/fields::accepted[as many new tokens as a 32-bit integer holds]
        15 truncate | generate/fields::out_of_range[truncate of 33 bits]
        16 errors of a stream | errors::failure_inside_a_stream_is_bare_text
    """,
    "vectors": """
        text alone; details; stream and decoder_input_details; stream | reference::field
        null | generate/fields::accepted[every field null]
        stream of another type | generate/parse::refused[stream as a number]
        inputs | generate/parse::refused[a number]
        max_new_tokens | generate/fields::wrong_type
        top_p | generate/fields::accepted[top_p just below one]
        typical_p | generate/fields::accepted[typical_p of one]
        repetition_penalty | generate/fields::accepted[repetition_penalty that rewards]
        seed | generate/fields::largest_seed_keeps_every_digit
        stop, bounds | generate/fields::out_of_range[1025 stops]
        stop, a hit | reference::field
        adapter_id | generate/fields::accepted[every sign an adapter's name may have]
        media | generate/inputs::twenty_media_of_all_kinds_together
        return_full_text | generate/codec::full_text_in_front
        two bad fields | generate/fields::first_failure_is_told
        unknown keys | generate/fields::accepted[fields nobody knows]
        GET / | errors::route_miss_is_an_empty_404[a known path, another method]
    """,
}

COUNTS: dict[str, int] = {
    "planes": 3,
    "routes": 16,
    "top level": 3,
    "parameters": 17,
    "other checks": 16,
    "media": 3,
    "finish_reason": 4,
    "TGI beside it": 25,
    "what clients accept": 6,
    "programs": 8,
    "decisions": 16,
    "vectors": 20,
}
"""How many rows the tables have that are shown in full."""

LEFT_OUT: dict[str, str] = {
    "default addresses and ports of the planes": "the emulator's ports are its own, and one serves all",
    "TLS with client certificates by default": "the same pages serve over HTTP where it is off; TLS is an option here",
    "an engine that has been stopped": "500 of a server that goes down; here a forced stop cuts its connections",
    "inputs of more than 1048576 tokens": "no context is so long; the bound of the context is told before",
    "duplicate request id; schedule and first token timeout; P instance error": "of a Coordinator's own scheduler; "
    "an injected error says any of these texts",
    "text-generation 0.6.0": "0.7.0 is tried; 0.6.0 differs only in that a null logprob is refused, too",
    "TGI's load tests in k6": "they send OpenAI chats, which OpenAI's client shows",
    "TGI's own tests of its client": "run by hand: 24 pass, two need the vocabulary of one model",
    "text-generation-benchmark": "it speaks gRPC to a shard",
    "MindIE's own benchmark and client": "not public",
    "local media and media elsewhere": "no file and no network is read; they are taken by their form",
    "a text that is a list of objects in JSON": "optional in the server's own tokenizer; here a text is a text",
    "lists of more than a thousand megabytes": "a body has at most a hundred",
    "a Coordinator's ports 1028 and 1029": "its metrics and status come from its nodes, which answer themselves",
    "another server's calls that run, on a forced stop": "with several processes each cuts those of its own",
}
