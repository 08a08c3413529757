"""The scenario language, table by table and name by name, side by side with the test that covers each.

A test is ``file::function`` or ``file::function[case]``; ``tests/test_language.py`` checks that it exists, and that
no name of the language is missing here.
"""

from collections.abc import Mapping

Rows = Mapping[str, str]

_FACET = "tests/scenario/test_facets.py::test_facet"
_TIMES = "tests/scenario/test_matching.py::test_times"
_SEQUENCE = "tests/scenario/test_matching.py::test_sequence"
_FAULTS = "tests/faults/test_faults.py::"
_POSITION = "tests/faults/test_position.py::test_position_in_a_stream"
_WIRE = "tests/faults/test_wire.py::"
_CLIENTS = "tests/faults/test_clients.py::"
_QUANTILE = "tests/latency/test_distributions.py::test_quantile"
_DELAY = "tests/latency/test_distributions.py::"
_PACE = "tests/latency/test_pacing.py::"
_GATE = "tests/ratelimit/test_admission.py::"
_LIMITS = "tests/ratelimit/test_server.py::"
_SLOTS = "tests/ratelimit/test_load.py::"
_SAYS = "tests/test_replies.py::test_what_an_answer_says"
_ERROR = "tests/test_replies.py::test_each_key_overrides_a_part_of_the_error"
_INSTANCE = "tests/test_replies.py::test_an_instance_of_the_requests_schema"
_REPLIES = "tests/test_replies.py::"
_API = "tests/control/test_api.py::"
_APP = "tests/handler/test_app.py::"
_SESSIONS = "tests/runtime/test_sessions.py::"
_PLAYER = "tests/http/test_writer.py::"
_MISTAKES = "tests/scenario/test_mistakes.py::"
_CLI = "tests/cli/test_{}.py::"
_KINDS = "tests/vendors/{}/test_errors.py::test_every_kind_has_words"

SECTIONS: Rows = {
    "version": f"{_MISTAKES}test_twelve_mistakes_are_twelve_rows",
    "name": f"{_API}test_the_scenario_at_work_is_shown_as_written",
    "description": f"{_API}test_the_scenario_at_work_is_shown_as_written",
    "seed": "tests/scenario/test_matching.py::test_chance_depends_on_the_rule_and_the_seed_and_not_on_other_rules",
    "clock": f"{_API}test_every_clock_can_be_moved",
    "strict": f"{_API}test_a_strict_scenario_refuses_what_no_rule_takes",
    "vendors": f"{_API}test_a_vendor_that_a_scenario_leaves_out_is_gone_and_comes_back",
    "keys": f"{_APP}test_keys_name_the_principal",
    "deployments": "tests/scenario/test_models.py::test_deployment",
    "latency": f"{_PACE}test_merge",
    "limits": f"{_GATE}test_each_unit_is_charged_and_settled",
    "journal": "tests/scenario/test_models.py::test_what_the_journal_keeps",
    "timing": "tests/scenario/test_models.py::test_timing_is_kept",
    "bounds": "tests/core/test_cost_limits.py::test_what_asks_for_more_is_refused",
    "rules": "tests/scenario/test_matching.py::test_the_first_rule_that_matches_wins",
}

FACETS: Rows = {
    "vendor": f"{_FACET}[vendor, exact]",
    "deployment": f"{_FACET}[deployment, glob]",
    "task": f"{_FACET}[task]",
    "endpoint": f"{_FACET}[endpoint, glob]",
    "principal": f"{_FACET}[principal]",
    "session": f"{_FACET}[session]",
    "stream": f"{_FACET}[stream]",
    "structured": f"{_FACET}[structured by schema]",
    "multimodal": f"{_FACET}[multimodal]",
    "prompt": f"{_FACET}[prompt, equal]",
    "system": f"{_FACET}[system]",
    "tools": f"{_FACET}[any tool offered]",
    "tool_result": f"{_FACET}[tool result]",
    "prompt_tokens": f"{_FACET}[prompt tokens, equal]",
    "max_tokens": f"{_FACET}[max tokens]",
    "messages": f"{_FACET}[messages]",
    "messages.last.role": f"{_FACET}[role of the last message]",
    "body_bytes": f"{_FACET}[body bytes with a unit]",
    "header.<name>": f"{_FACET}[header]",
    "query.<name>": f"{_FACET}[query]",
    "body.<path>": f"{_FACET}[body, deep]",
    "any": f"{_FACET}[any, one of two]",
    "not": f"{_FACET}[not, they do not all hold]",
}

COMPARISONS: Rows = {
    "contains": f"{_FACET}[prompt, contains]",
    "prefix": f"{_FACET}[prompt, prefix]",
    "suffix": f"{_FACET}[prompt, suffix]",
    "regex": f"{_FACET}[prompt, regex searches]",
    "not": f"{_FACET}[prompt, not a string]",
    "ignore_case": f"{_FACET}[prompt, in any case]",
    "above": f"{_FACET}[above leaves out the bound]",
    "below": f"{_FACET}[below leaves out the bound]",
}

TIMES: Rows = {
    "first": f"{_TIMES}[first]",
    "nth": f"{_TIMES}[nth of a list]",
    "every": f"{_TIMES}[every]",
    "after": f"{_TIMES}[after]",
    "probability": "tests/scenario/test_matching.py::test_chance_is_as_likely_as_it_says",
    "between": f"{_TIMES}[between is half open]",
    "repeat": f"{_TIMES}[a burst opens each period]",
    "per": f"{_TIMES}[per rule is the default]",
}

SCOPES: Rows = {
    "rule": f"{_TIMES}[per rule]",
    "request": f"{_TIMES}[per request, so a retry is attempt two]",
    "principal": f"{_TIMES}[per principal]",
    "deployment": f"{_TIMES}[per deployment]",
}

THEN: Rows = {
    "pass": f"{_SEQUENCE}[then pass is the default]",
    "repeat": f"{_SEQUENCE}[then repeat]",
    "last": f"{_SEQUENCE}[then last]",
}

OUTCOMES: Rows = {
    "error": f"{_APP}test_a_rule_refuses",
    "reply": f"{_APP}test_a_rule_fixes_the_answer",
    "latency": f"{_PACE}test_merge",
    "faults": f"{_FAULTS}test_faults_compose_in_order",
    "pass": f"{_SEQUENCE}[then pass]",
    "sequence": f"{_SEQUENCE}[per beside it]",
}

ERROR_KEYS: Rows = {
    "kind": "tests/scenario/test_models.py::test_every_error_kind_has_its_name_in_the_language",
    "param": f"{_REPLIES}test_the_parameter_at_fault_is_named",
    "limit": f"{_ERROR}[limit]",
    "status": f"{_ERROR}[status]",
    "message": f"{_ERROR}[message]",
    "retry_after": f"{_ERROR}[retry_after]",
    "body": f"{_ERROR}[a body of JSON]",
    "headers": f"{_ERROR}[headers]",
    "after": f"{_ERROR}[after]",
}

REPLY_KEYS: Rows = {
    "text": f"{_SAYS}[text]",
    "file": "tests/scenario/test_reply_files.py::test_an_answer_is_read_without_its_last_line_break",
    "template": f"{_APP}test_a_reply_says_of_the_request_what_it_is_told_to",
    "tool_calls": f"{_REPLIES}test_a_tool_is_called",
    "json": f"{_SAYS}[json]",
    "refusal": f"{_SAYS}[refusal]",
    "embedding": f"{_REPLIES}test_one_vector_for_every_input",
    "reasoning": f"{_REPLIES}test_thoughts_go_with_the_text",
    "finish_reason": f"{_SAYS}[finish_reason]",
    "usage": f"{_REPLIES}test_counts_can_be_fixed",
    "chunks": f"{_REPLIES}test_each_chunk_is_an_event",
    "generate": f"{_INSTANCE}[typical]",
}

_PLACEHOLDER = "tests/scenario/test_template.py::test_placeholder"

PLACEHOLDERS: Rows = {
    **{
        name: f"{_PLACEHOLDER}[{name}]"
        for name in ("prompt", "model", "session", "attempt", "header.x", "query.x", "body.path", "now")
    },
    "uuid": "tests/scenario/test_template.py::test_a_uuid_follows_from_the_answers_key_and_its_place",
}

GENERATE: Rows = {mode: f"{_INSTANCE}[{mode}]" for mode in ("typical", "minimal", "boundary", "adversarial", "invalid")}

ERROR_KINDS: Rows = {  # each test asks a vendor for every kind; one stands here for its kind, all for all
    "invalid_request": "tests/vendors/azure/errors/test_render.py::test_every_kind_has_words",
    "invalid_parameter": _KINDS.format("tgi"),
    "unauthenticated": "tests/vendors/openvino/test_errors.py::test_every_kind",
    "forbidden": _KINDS.format("mindie"),
    "not_found": "tests/vendors/databricks/test_errors.py::test_every_kind_is_worded",
    "method_not_allowed": "tests/vendors/azure/errors/test_render.py::test_every_kind_has_words",
    "payload_too_large": _KINDS.format("tgi"),
    "context_length": "tests/vendors/openvino/test_errors.py::test_every_kind",
    "content_filter": _KINDS.format("mindie"),
    "rate_limited": "tests/vendors/databricks/test_errors.py::test_every_kind_is_worded",
    "overloaded": "tests/vendors/mindie/test_errors.py::test_overload_drops_the_connection",
    "not_ready": _KINDS.format("tgi"),
    "timeout": "tests/vendors/openvino/test_errors.py::test_every_kind",
    "internal": _KINDS.format("mindie"),
}

FAULTS: Rows = {
    "disconnect": f"{_WIRE}test_a_cut_inside_a_character_is_exact",
    "truncate": f"{_CLIENTS}test_what_a_stream_says[an end that says nothing]",
    "stall": f"{_PLAYER}test_a_stall_follows_the_clock",
    "hang": f"{_PLAYER}test_a_hang_ends_when_the_client_leaves",
    "drip": f"{_PLAYER}test_a_drip_comes_byte_by_byte_by_the_clock",
    "late_error": f"{_WIRE}test_a_late_error_follows_what_was_said",
    "garbage": f"{_FAULTS}test_garbage_breaks_the_event_at_its_position_only",
    "drop": f"{_WIRE}test_what_is_dropped_is_gone_and_the_rest_is_as_it_was",
    "duplicate": f"{_FAULTS}test_duplicate_sends_an_event_twice_at_the_same_time",
    "reorder": f"{_FAULTS}test_reorder_exchanges_two_events_and_no_times",
    "wrong_usage": f"{_WIRE}test_counts_do_not_add_up",
    "wrong_content_type": f"{_FAULTS}test_heads_are_bent_and_bodies_stay",
    "empty_body": f"{_FAULTS}test_what_ends_an_answer_in_one_piece[an empty body has length 0]",
    "extra_fields": f"{_FAULTS}test_extra_fields_are_in_every_object",
    "split": f"{_FAULTS}test_split_sends_the_right_bytes_in_awkward_writes",
    "status": f"{_CLIENTS}test_an_answer_that_fails[a status]",
}

POSITIONS: Rows = {
    "after_tokens": f"{_WIRE}test_a_cut_after_tokens_leaves_just_those",
    "after_bytes": f"{_POSITION}[bytes are bytes of the body]",
    "at": f"{_POSITION}[in the middle]",
    "before": f"{_WIRE}test_before_finish_all_is_said_but_why_it_ends",
    "inside": f"{_WIRE}test_a_cut_inside_a_character_is_exact",
    "before: first_token": f"{_POSITION}[before the first token, after the role]",
    "before: usage": f"{_POSITION}[before the counts]",
    "before: finish": f"{_POSITION}[before the finish reason's event]",
    "before: done": f"{_POSITION}[before the mark of the end]",
    "inside: utf8": f"{_POSITION}[inside the first wide character]",
    "inside: escape": f"{_POSITION}[between a backslash and its letter]",
    "inside: event": f"{_POSITION}[inside the event that follows]",
}

WRITES: Rows = {
    "byte": f"{_FAULTS}test_split_sends_the_right_bytes_in_awkward_writes[byte]",
    "line": f"{_FAULTS}test_split_sends_the_right_bytes_in_awkward_writes[line]",
    "event": f"{_FAULTS}test_split_sends_the_right_bytes_in_awkward_writes[event]",
    "utf8": f"{_CLIENTS}test_an_answer_that_can_be_read[inside characters]",
    "across": f"{_FAULTS}test_split_sends_the_right_bytes_in_awkward_writes[across events]",
}

LATENCIES: Rows = {
    "constant": f"{_QUANTILE}[a constant is low]",
    "uniform": f"{_QUANTILE}[uniform, first quarter]",
    "normal": f"{_QUANTILE}[normal, one deviation]",
    "lognormal": f"{_QUANTILE}[lognormal, p99]",
    "gamma": f"{_QUANTILE}[gamma of shape two, p90]",
    "pareto": f"{_QUANTILE}[pareto, heavy tail]",
    "empirical": f"{_QUANTILE}[empirical, between two quantiles]",
    "histogram": f"{_QUANTILE}[histogram with an empty bin]",
    "mixture": f"{_DELAY}test_a_mixture_draws_its_parts_by_weight",
}

LATENCY_KEYS: Rows = {
    "ttft": f"{_PACE}test_pace[ttft moves all tokens]",
    "itl": f"{_PACE}test_pace[itl parts them]",
    "prefill": f"{_PACE}test_pace[prefill counts prompt tokens]",
    "load": f"{_SLOTS}test_load_stretches_the_gaps",
    "max": f"{_DELAY}test_max_clamps_what_exceeds_it",
    "capacity": f"{_SLOTS}test_load_lets_so_many_run_and_so_many_wait",
    "factor": f"{_PACE}test_pace[half way to capacity]",
    "queue": f"{_SLOTS}test_load_lets_so_many_run_and_so_many_wait",
}

UNITS: Rows = {
    "requests": f"{_LIMITS}test_sixty_a_minute_are_sixty_and_then_a_true_wait",
    "input_tokens": f"{_GATE}test_each_unit_is_charged_and_settled[prompt tokens are counted exactly]",
    "output_tokens": f"{_GATE}test_each_unit_is_charged_and_settled[an answer is settled with what was sent]",
    "tokens": f"{_GATE}test_each_unit_is_charged_and_settled[both together]",
    "concurrency": f"{_LIMITS}test_eight_at_a_time_are_eight",
}

STRATEGIES: Rows = dict.fromkeys(
    ("bucket", "fixed", "sliding"), "tests/storage/test_quotas.py::test_sixty_a_minute_are_exactly_sixty"
)

LIMIT_KEYS: Rows = {
    "vendor": f"{_GATE}test_who_shares_a_quota[one vendor's]",
    "deployment": f"{_GATE}test_who_shares_a_quota[one name's]",
    "principal": f"{_GATE}test_who_shares_a_quota[one caller's own]",
    "per": f"{_GATE}test_who_shares_a_quota[one for all]",
    "unit": f"{_GATE}test_each_unit_is_charged_and_settled",
    "amount": f"{_LIMITS}test_sixty_a_minute_are_sixty_and_then_a_true_wait",
    "window": f"{_LIMITS}test_sixty_a_minute_are_sixty_and_then_a_true_wait",
    "strategy": f"{_LIMITS}test_sixty_a_minute_are_sixty_and_then_a_true_wait",
    "per: principal": f"{_GATE}test_who_shares_a_quota[each caller]",
    "per: deployment": f"{_GATE}test_who_shares_a_quota[each deployment]",
}

CLOCKS: Rows = {
    "real": f"{_API}test_every_clock_can_be_moved[real]",
    "scale": f"{_API}test_every_clock_can_be_moved[scaled]",
    "instant": f"{_API}test_every_clock_can_be_moved[instant]",
    "frozen": f"{_API}test_every_clock_can_be_moved[frozen]",
}

HEADERS: Rows = {
    "x-emulator-error": f"{_PLAYER}test_headers_win_over_rules",
    "x-emulator-fault": f"{_PLAYER}test_headers_win_over_rules",
    "x-emulator-ttft": f"{_PLAYER}test_a_header_sets_the_time_to_first_token",
}

_SESSIONS = "tests/runtime/test_sessions.py::"

CONTROL: Rows = {
    "GET ": "tests/control/test_console.py::test_the_console_is_one_page_that_asks_only_its_own_host",
    "POST /report": "tests/control/test_console.py::test_a_report_is_the_page_with_the_calls_inside",
    "POST /check": "tests/control/handlers/test_status.py::test_a_scenario_is_checked_and_put_to_work_nowhere",
    "POST /parse": "tests/control/handlers/test_status.py::test_a_scenario_is_parsed_with_the_place_of_each_part",
    "GET /limits": "tests/control/handlers/test_status.py::test_a_limit_says_what_is_left_and_when_it_is_full_again",
    "GET /rules": "tests/control/handlers/test_status.py::test_rules_say_how_often_they_hit_and_what_they_drew",
    "GET /status": "tests/control/handlers/test_status.py::test_the_status_counts_what_the_process_holds",
    "GET /timing": "tests/observability/test_timing.py::test_a_run_that_is_late_is_invalid",
    "GET /deployments": "tests/control/handlers/test_requests.py::test_what_can_be_asked_for_is_listed",
    "GET /events": "tests/control/test_events.py::test_what_comes_is_told",
    "POST /verify": "tests/control/test_verify.py::test_what_was_asked_for_holds",
    "GET /sessions": f"{_SESSIONS}test_sessions_are_listed_from_their_first_use_and_end",
    "DELETE /sessions/{name}": f"{_SESSIONS}test_sessions_are_listed_from_their_first_use_and_end",
    "POST /sessions/{name}/listen": f"{_SESSIONS}test_a_port_of_ones_own_lasts_until_the_session_ends",
    "GET /health": f"{_API}test_another_scenario_takes_over_with_fresh_counters",
    "GET /ready": f"{_CLI.format('serve')}test_serve_answers_and_ends_with_0",
    "GET /scenario": f"{_API}test_the_scenario_at_work_is_shown_as_written",
    "PUT /scenario": f"{_API}test_another_scenario_takes_over_with_fresh_counters",
    "GET /scenarios": f"{_API}test_what_is_answered_is_what_is_documented",
    "POST /reset": f"{_API}test_sessions_count_apart_and_are_reset_apart",
    "GET /requests": "tests/control/handlers/test_requests.py::test_the_list_filters",
    "GET /requests/{id}": f"{_API}test_a_request_explains_itself",
    "GET /clock": f"{_API}test_every_clock_can_be_moved",
    "POST /clock": f"{_API}test_every_clock_can_be_moved",
    "GET /metrics": f"{_API}test_metrics_count_what_was_answered",
    "GET /replicas/metrics": "tests/cluster/test_replica.py::test_metrics_are_told_by_replica",
    "GET /ca.pem": f"{_API}test_the_authority_is_given_to_whoever_asks_where_there_is_one",
    "GET /openapi.json": f"{_API}test_what_is_answered_is_what_is_documented",
}

COMMANDS: Rows = {
    "serve": f"{_CLI.format('serve')}test_serve_answers_and_ends_with_0",
    "check": f"{_CLI.format('check')}test_check_gives_rows",
    "explain": f"{_CLI.format('explain')}test_explain_says_why",
    "schema": f"{_CLI.format('schema')}test_schema_is_json_schema",
    "instance": f"{_CLI.format('instance')}test_instance_answers_each_line_by_itself",
    "health": f"{_CLI.format('health')}test_health_of_nothing_is_1",
    "env": f"{_CLI.format('env')}test_env_prints_what_to_export",
    "ca": f"{_CLI.format('ca')}test_it_prints_one_path_and_always_the_same",
    "models": f"{_CLI.format('models')}test_models_lists_names_tasks_and_states",
    "report": f"{_CLI.format('report')}test_a_report_is_written_where_it_is_wanted",
    "completion": f"{_CLI.format('completion')}test_shells_complete",
}
