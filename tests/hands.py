"""What people who write tests are promised, one promise a row, side by side with the test that fails were it broken.

Sessions, journal, verification, clients and the pytest plugin; then what a new user meets: files, messages, TLS, the
terminal. A test is ``file::function`` or ``file::function[case]``; ``tests/test_hands.py`` checks that it exists.
"""

from collections.abc import Mapping

Rows = Mapping[str, str]

_SESSIONS = "tests/runtime/test_sessions.py::"
_ADDRESS = "tests/http/test_sessions.py::"
_FIRST = f"{_ADDRESS}test_the_first_way_that_names_a_session_wins"
_WAY = f"{_SESSIONS}test_no_way_leaves_a_trace_but_in_the_journals_session"
_RUNTIME = "tests/runtime/test_runtime.py::"
_LIMITS = "tests/ratelimit/test_server.py::"
_REQUESTS = "tests/control/handlers/test_requests.py::"
_FILTER = f"{_REQUESTS}test_the_list_filters"
_BODY = f"{_REQUESTS}test_a_body_is_shown_in_the_form_it_has"
_JOURNAL = "tests/journal/test_journal.py::"
_RECORD = "tests/handler/test_record.py::"
_SLIP = "tests/http/test_compact_record.py::"
_SAYS = f"{_SLIP}test_it_says_what_was_sent"
_HINTS = "tests/handler/test_diagnostics.py::"
_EVENTS = "tests/control/test_events.py::"
_VERIFY = "tests/control/test_verify.py::"
_HOLDS = f"{_VERIFY}test_what_was_asked_for_holds"
_MANY = f"{_VERIFY}test_how_many_there_must_be"
_ORDER = f"{_VERIFY}test_an_order"
_START = "tests/client/test_start.py::"
_CLIENT = "tests/client/test_clients.py::"
_TAKES = f"{_CLIENT}test_a_method_takes_what_it_has_always_taken"
_PLUGIN = "tests/test_pytest_plugin.py::"
_ISOLATION = "tests/test_isolation.py::test_journals_are_those_of_the_serial_run"
_LOAD = "tests/scenario/test_load.py::"
_SERVE = "tests/cli/test_serve.py::"
_MAIN = "tests/cli/test_main.py::test_wrong_usage_is_one_clear_line_and_2"
_CHECK = "tests/cli/test_check.py::"
_LOG = "tests/observability/test_access_log.py::"
_LINT = "tests/scenario/test_lint.py::"
_ODD = f"{_LINT}test_an_outcome_that_is_not_what_it_looks_like"
_WORDS = "tests/scenario/test_words.py::"
_FACET = "tests/scenario/test_facets.py::test_facet"
_TLS = "tests/cli/test_serve_tls.py::"
_LEAF = "tests/http/test_leaf.py::"
_TIMING = "tests/observability/test_timing.py::"
_SERVING = "tests/runtime/test_services.py::"
_TEMPLATE = "tests/scenario/test_template.py::"

SESSIONS: Rows = {
    "a scenario of its own": f"{_SESSIONS}test_a_scenario_of_ones_own_disturbs_nobody",
    "a seed of its own": f"{_SESSIONS}test_a_seed_of_ones_own_gives_another_world",
    "a clock of its own": f"{_SESSIONS}test_a_clock_that_a_session_moves_is_its_own",
    "counters of its own, under the server's scenario too": f"{_SESSIONS}test_each_session_counts_apart",
    "quotas of its own": f"{_LIMITS}test_principals_and_sessions_have_quotas_of_their_own",
    "places of its own": f"{_RUNTIME}test_a_session_has_places_of_its_own",
    "running calls of its own": f"{_RUNTIME}test_a_session_has_running_calls_of_its_own",
    "attempts of its own": f"{_RUNTIME}test_equal_requests_are_counted_as_attempts_in_their_session_alone",
    "a journal of its own": f"{_JOURNAL}test_one_session_is_forgotten_alone",
    "what it does not set is the server's": f"{_SESSIONS}test_what_a_session_does_not_set_is_the_servers",
    "from its first use until it is ended": f"{_SESSIONS}test_sessions_are_listed_from_their_first_use_and_end",
    "unused for long, it goes": f"{_SESSIONS}test_those_unused_for_an_hour_go_even_if_no_other_comes",
    "how long that is, and how many there are": f"{_RUNTIME}test_an_hour_and_ten_thousand_sessions",
    "by a header": f"{_WAY}[a header]",
    "by the path": f"{_WAY}[the path]",
    "by the path on the front": f"{_WAY}[the path on the front]",
    "by a bearer key": f"{_WAY}[a bearer token]",
    "by an api-key": f"{_FIRST}[an api-key]",
    "by a basic password": f"{_WAY}[a basic password]",
    "by the host, in lower case": f"{_SESSIONS}test_the_host_names_a_session_in_lower_case",
    "by baggage": f"{_WAY}[baggage]",
    "by a port of its own": f"{_WAY}[a port of its own]",
    "that port closes with the session": f"{_SESSIONS}test_a_port_of_ones_own_lasts_until_the_session_ends",
    "the header before the path": f"{_FIRST}[the header before the path]",
    "the path before the key": f"{_FIRST}[the path before the key]",
    "the key before the host": f"{_FIRST}[the key before the host]",
    "the host before baggage": f"{_FIRST}[then the host]",
    "its own port last": f"{_ADDRESS}test_a_port_of_ones_own_comes_last",
    "names that are taken": f"{_RUNTIME}test_what_can_be_a_name_is_one",
    "names that are refused": f"{_ADDRESS}test_a_name_that_cannot_be_one_is_refused",
    "they are refused as a problem": f"{_SESSIONS}test_a_name_that_cannot_be_one_is_a_problem",
    "after the last tilde of a key": f"{_FIRST}[the last of two tildes]",
    "what is no name stays in the key": f"{_FIRST}[no such name in a key]",
    "a listed key is whole": f"{_ADDRESS}test_a_key_that_is_listed_is_whole",
    "also one a session's scenario lists": f"{_SESSIONS}test_a_key_that_a_sessions_own_scenario_lists_is_whole",
    "to end one that is not there is 404": f"{_SESSIONS}test_sessions_are_listed_from_their_first_use_and_end",
    "links carry its path": f"{_SESSIONS}test_the_path_names_a_session_on_both_ports_and_comes_back_in_links",
    "credentials are cut before anybody sees them": f"{_ADDRESS}test_the_session_is_cut_off_from_credentials",
    "the list says when it was used": f"{_RUNTIME}test_sessions_say_when_they_were_last_used",
    "its clock ends with it": f"{_RUNTIME}test_a_clock_of_a_session_ends_with_it",
    "its scenario ends with it": f"{_RUNTIME}test_a_scenario_of_a_session_ends_with_it",
    "one of the library, with a seed": f"{_SESSIONS}test_what_comes_with_the_emulator_can_be_put_to_a_session",
    "its reset": f"{_SESSIONS}test_a_reset_begins_one_session_anew",
    "its calls by id": f"{_REQUESTS}test_equal_calls_of_two_sessions_are_told_apart",
    "held against alone": f"{_VERIFY}test_one_session_is_held_against_alone",
    "each client of the suite, by path, key and own port": "tests/conformance/conftest.py::session_by",
}

JOURNAL: Rows = {
    "an entry for each call": "tests/handler/test_app.py::test_every_call_is_recorded",
    "for what was refused": f"{_HINTS}test_other_refusals",
    "for what was malformed": f"{_RECORD}test_a_malformed_call_is_entered_as_it_came",
    "for what no vendor has": f"{_RECORD}test_a_call_to_no_vendor_is_entered",
    "the short entry's fields, in order": f"{_REQUESTS}test_the_short_entry_has_the_fields_of_the_contract_in_order",
    "the four that are more in the whole": f"{_REQUESTS}test_the_whole_is_the_short_entry_and_four_more",
    "times as planned and as they were": f"{_TIMING}test_the_journal_has_planned_and_actual_times",
    "numbers rise over all sessions": f"{_FILTER}[what came since]",
    "JSON as JSON": f"{_BODY}[JSON]",
    "text as text": f"{_BODY}[text]",
    "all else as base64": f"{_BODY}[bytes]",
    "of a stream no body, but what was said": f"{_REQUESTS}test_of_a_stream_there_is_no_body_but_what_was_said",
    "the terminator is an event": f"{_RECORD}test_events_are_counted_with_the_one_that_ends_them",
    "what it is a retry of, and how often it was retried": f"{_RECORD}test_attempts_are_joined_in_a_session",
    "complete before the last byte": f"{_RECORD}test_an_entry_is_complete_before_the_last_byte_is_written",
    "of a client that left": "tests/handler/test_app.py::test_a_client_that_leaves_is_recorded",
    "no credential is kept": f"{_REQUESTS}test_credentials_are_cut_before_anything_is_kept",
    "how much of a body, and how many calls": "tests/scenario/test_models.py::test_what_the_journal_keeps[as a rule]",
    "how much in all": f"{_JOURNAL}test_of_bodies_32_mebibytes_are_kept_in_all",
    "no bodies on demand": f"{_RECORD}test_how_much_is_kept[none]",
    "what was cut says so": f"{_REQUESTS}test_a_body_too_long_to_keep_says_so",
    "what is gone says so": f"{_REQUESTS}test_what_is_not_kept_says_so",
    "every field filters": f"{_REQUESTS}test_every_field_of_the_short_entry_is_a_filter",
    "what came since": f"{_FILTER}[what came since]",
    "so many": f"{_FILTER}[the latest two]",
    "waiting for what is new": f"{_REQUESTS}test_waiting_ends_as_soon_as_something_new_matches",
    "waiting in vain is empty": f"{_REQUESTS}test_waiting_in_vain_gives_nothing",
    "the same as events": f"{_EVENTS}test_what_comes_is_told",
    "a path of another vendor": f"{_HINTS}test_a_path_that_is_not_there[another]",
    "a deployment spelled alike": f"{_HINTS}test_a_deployment_that_is_not_there[a typo in the body]",
    "which limit, asked, left, wait": f"{_HINTS}test_a_limit_that_refuses[tokens]",
    "a limit that can never be met": f"{_HINTS}test_a_limit_that_refuses[never]",
    "the same in the log": f"{_LOG}test_why_it_was_refused_stands_below",
    "the limits of a refusal, whole": f"{_REQUESTS}test_a_limit_that_refused_is_shown",
    "a call read after time went by": f"{_SAYS}[time goes by]",
    "a call read after its scenario": f"{_SAYS}[a rule that takes it]",
    "a call read after its vendor": f"{_SAYS}[its vendor is gone]",
    "a quick call is its session's": f"{_SLIP}test_it_is_its_sessions_by_every_way",
    "a quick call shows no credential": f"{_SLIP}test_a_report_has_it_whole_and_no_credential",
}

VERIFICATION: Rows = {
    "facets of the request": f"{_HOLDS}[what was sent]",
    "groups of facets": f"{_HOLDS}[any of two groups]",
    "status": f"{_HOLDS}[a bound]",
    "error": f"{_HOLDS}[an error]",
    "rule": f"{_HOLDS}[a glob]",
    "fault": f"{_HOLDS}[a fault]",
    "attempt": f"{_HOLDS}[a retry]",
    "whole, client_left": f"{_HOLDS}[how it ended]",
    "finish_reason": f"{_HOLDS}[why it ended]",
    "completion_tokens": f"{_HOLDS}[tokens]",
    "retries": f"{_HOLDS}[a call that was made again]",
    "at least one where nothing is said": f"{_MANY}[without a word at least one]",
    "exactly": f"{_MANY}[fewer than exactly]",
    "at_least": f"{_MANY}[fewer than at least]",
    "at_most": f"{_MANY}[more than at most]",
    "an order, others between": f"{_ORDER}[others between]",
    "within": f"{_VERIFY}test_what_holds_later_is_waited_for",
    "never, until the time is over": f"{_VERIFY}test_never_is_known_only_once_the_time_is_over",
    "the text of what does not hold": f"{_VERIFY}test_the_text_of_the_contract",
    "the facet that is wrong": f"{_VERIFY}test_a_mismatch_names_the_facet",
    "forty lines of ten thousand calls": f"{_VERIFY}test_a_mismatch_stays_short_in_a_full_journal",
    "a mistake in the question": f"{_VERIFY}test_what_makes_no_sense_is_refused",
    "a call of the short road": f"{_SLIP}test_it_can_be_verified_and_is_among_the_nearest_after_another_scenario",
}

CLIENTS: Rows = {
    "to import it is light": f"{_START}test_to_import_it_imports_nothing_heavy",
    "on a thread, on free ports, and gone": f"{_START}test_nothing_is_left_of_it",
    "files and keys": f"{_START}test_a_scenario_of_its_own",
    "seeds, two at once": f"{_START}test_two_do_not_know_each_other",
    "one that runs elsewhere": f"{_CLIENT}test_nobody_at_the_url_is_said",
    "both have the same methods": f"{_CLIENT}test_both_have_the_same_methods",
    "what each method takes": _TAKES,
    "answers are models": f"{_CLIENT}test_answers_are_models",
    "url by port": f"{_CLIENT}test_a_session_has_a_port_of_its_own",
    "url by path": f"{_CLIENT}test_a_path_names_the_session",
    "url by root": f"{_CLIENT}test_a_root_names_no_session",
    "url without a session": f"{_CLIENT}test_without_a_session_it_is_the_root",
    "env": f"{_CLIENT}test_variables_are_those_of_the_vendor",
    "load, version and name filled in": f"{_CLIENT}test_a_scenario_needs_neither_version_nor_name",
    "load of files": "tests/client/test_scenario.py::test_sources_join_and_keys_win",
    "add_rule": f"{_CLIENT}test_a_rule_is_added_before_the_others_or_behind",
    "reset": f"{_CLIENT}test_a_reset_begins_again",
    "advance, clock": f"{_CLIENT}test_the_clock_moves",
    "requests, explain": f"{_CLIENT}test_calls_are_shown_whole",
    "last": f"{_CLIENT}test_the_last_call_is_had_or_missed_in_words",
    "wait_for": f"{_CLIENT}test_it_waits_for_a_call_that_comes",
    "assertions that hold": f"{_CLIENT}test_what_was_expected_passes",
    "assertions that fail, in words": f"{_CLIENT}test_what_was_not_expected_is_said",
    "metrics": f"{_CLIENT}test_totals_are_prometheus_text",
    "close": f"{_CLIENT}test_to_close_is_to_end_the_session",
}

PLUGIN: Rows = {
    "a session a test": f"{_PLUGIN}test_each_test_has_a_session_of_its_own",
    "by path with a server elsewhere": f"{_PLUGIN}test_an_emulator_elsewhere_is_reached_by_path",
    "one server a process": f"{_PLUGIN}test_the_server_is_one_and_knows_no_session_of_a_test_that_is_over",
    "one server a worker, or one for all": _ISOLATION,
    "begun by the first test; off on demand": f"{_PLUGIN}test_an_installed_package_is_enough",
    "the marker": f"{_PLUGIN}test_a_marker_gives_the_scenario",
    "settings of the suite": f"{_PLUGIN}test_the_suite_can_have_a_scenario",
    "a log": f"{_PLUGIN}test_the_log_has_every_call",
    "unmatched calls fail the test": f"{_PLUGIN}test_an_unmatched_call_fails_the_test_itself",
    "a section and a page of a failure": f"{_PLUGIN}test_a_test_that_fails_tells_of_its_calls",
    "variables for one test": f"{_PLUGIN}test_variables_are_set_for_one_test",
    "tests that await": f"{_PLUGIN}test_tests_that_await_have_it_too",
    "it helps": f"{_PLUGIN}test_it_says_what_it_offers",
    "an application's suite": "tests/test_examples.py::test_the_suite_of_an_application_needs_no_fixture_of_its_own",
}

FIRST_STEPS: Rows = {
    "a folder of one file": f"{_LOAD}test_which_scenario_of_a_folder[the only one]",
    "a folder that leaves the choice": f"{_SERVE}test_a_folder_that_leaves_the_choice_is_one_line_and_2",
    "a shipped scenario by its name": f"{_LOAD}test_a_name_without_a_folder_is_one_of_the_shipped",
    "a state for a time": f"{_SERVING}test_a_state_lasts_as_long_as_it_says_by_the_scenarios_clock",
    "readiness while it loads": "tests/vendors/mindie/test_info.py::test_probes_of_the_coordinator",
    "the lesson about readiness": "tests/test_scenarios.py::test_ovms_graph_not_loaded",
    "a port out of range": f"{_MAIN}[a port there is not]",
    "a port that is taken": f"{_SERVE}test_a_port_in_use_is_one_clear_line_and_2",
    "a port file that cannot be written": f"{_SERVE}test_what_the_machine_refuses_is_one_clear_line_and_2",
    "TLS files that are not there": f"{_MAIN}[no certificate]",
    "one interrupt, and two": f"{_SERVE}test_a_second_interrupt_ends_at_once_what_the_first_waits_for",
    "words people bring": f"{_WORDS}test_a_word_from_elsewhere_is_understood",
    "short names of vendors": f"{_WORDS}test_vendors_are_known_by_their_short_names",
    "a typo in a header of ours": f"{_HINTS}test_a_header_that_is_not_known_is_refused",
    "session, principal and stream in the log": f"{_LOG}test_the_words_of_a_line",
    "the schema of editors": "tests/scenario/test_json_schema.py::test_what_check_refuses_the_schema_refuses",
    "a strict check": f"{_CHECK}test_a_strict_check_fails_for_a_warning",
    "each file by itself": f"{_CHECK}test_check_takes_each_file_by_itself_and_each_of_a_folder",
    "files joined": f"{_CHECK}test_check_joins_files_on_demand",
    "warnings beside errors": f"{_CHECK}test_warnings_stand_beside_errors",
    "an endpoint nobody has": "tests/scenario/test_lint_endpoints.py::test_endpoint",
    "a reply that is not what it looks like": _ODD,
    "a limit nobody can meet": f"{_LINT}test_a_limit_that_no_call_without_max_tokens_can_meet",
    "order, said once a file": f"{_LINT}test_each_file_says_once_what_depends_on_the_order",
    "the hook": "tests/test_hooks.py::test_the_hook_checks_each_file_that_is_committed",
    "the action": "tests/test_hooks.py::test_the_action_annotates",
    "a limit of one principal": "tests/ratelimit/test_admission.py::test_who_shares_a_quota[one caller's own]",
    "explain names the limit": "tests/cli/test_explain.py::test_explain_says_which_limit_refuses",
    "any": f"{_FACET}[any, one of two]",
    "not": f"{_FACET}[not, they do not all hold]",
    "the last message's role": f"{_FACET}[role of the last message]",
    "in any case": f"{_FACET}[prompt, in any case]",
    "the nearest rule": "tests/scenario/test_matching.py::test_the_nearest_rule_has_the_most_facets_that_hold",
    "placeholders": f"{_TEMPLATE}test_placeholder",
    "what is filled in is not read again": f"{_TEMPLATE}test_what_is_filled_in_is_not_read_again",
    "no template without its word": f"{_TEMPLATE}test_without_template_braces_are_braces",
    "an answer in a file": "tests/scenario/test_reply_files.py::test_an_answer_is_read_without_its_last_line_break",
    "every fault, streamed and not": "tests/faults/test_both.py::test_effect",
    "no fault is left out of that": "tests/faults/test_both.py::test_the_tables_have_every_fault",
    "one authority, and a restart breaks nobody": f"{_TLS}test_a_restart_breaks_nobody",
    "two authorities at once": f"{_LEAF}test_emulators_with_authorities_of_their_own_are_trusted_together",
    "names that are asked for": f"{_TLS}test_it_has_the_names_that_are_asked_for",
    "the authority over HTTP": f"{_TLS}test_it_is_trusted_by_the_line_the_banner_prints",
    "the authority's path": "tests/cli/test_ca.py::test_it_prints_one_path_and_always_the_same",
    "roots lead the banner": f"{_SERVE}test_serve_answers_and_ends_with_0",
    "120 columns": f"{_LOG}test_lines_fit_120_columns",
    "colours on a terminal": f"{_LOG}test_colours_are_for_terminals",
    "completion": "tests/cli/test_completion.py::test_shells_complete",
    "models": "tests/cli/test_models.py::test_models_lists_names_tasks_and_states",
    "both names of the command": "tests/test_containers.py::test_the_entry_point_is_the_console_script",
    "the reference of the language": "tests/tools/docs/test_reference.py::test_an_example_is_served_and_has_its_key",
    "the recipes": "tests/tools/docs/test_recipes.py::test_the_tests_pass",
}
