"""Which tests pytest skips on an operating system or with a compiled wheel, by name, each with the reason."""

import sys
from collections.abc import Sequence

import pytest

from emulator.cli.version import is_compiled

_SIGNALS = "processes are ended by signals, which Windows has not"
_SHELL = "a POSIX shell runs the command"
_SUBCLASS = "it derives a class from a compiled one"
_REFERENCE = "it takes weak references to objects of compiled classes"
_FILES = "links, pipes with names and permissions are not those of POSIX"

CANNOT = {  # of a system as sys.platform names it, or "compiled": files, folders or tests as pytest names them
    "win32": {
        "tests/tools/bench": _SIGNALS,
        "tests/cli/test_completion.py": _SHELL,
        "tests/cli/test_report.py": _SIGNALS,
        "tests/cli/test_serve.py": _SIGNALS,
        "tests/cli/test_serve_tls.py": _SIGNALS,
        "tests/deploy/test_check.py": _SHELL,
        "tests/tools/docs/test_commands.py": _SHELL,
        "tests/tools/docs/test_pages.py": _SHELL,
        "tests/tools/docs/test_recipes.py": _SHELL,
        "tests/packaging/test_workflows.py::test_images_are_named": _SHELL,
        "tests/scenario/test_reply_files.py": _FILES,
        "tests/serve/test_port_file.py": _FILES,
        "tests/serve/test_signals.py": _SIGNALS,
        "tests/serve/test_supervisor.py": "processes cannot share a port",
        "tests/serve/test_watch.py": _FILES,
        "tests/observability/test_tracing.py": _SIGNALS,
        "tests/test_hooks.py": _SHELL,
    },
    "darwin": {
        "tests/serve/test_supervisor.py": "of processes that share a port, the last gets every connection",
    },
    "compiled": {
        "tests/handler/test_decide.py::test_conflicting_change_is_retried": _SUBCLASS,
        "tests/http/test_writer.py::test_joined_events_share_one_chunk": _SUBCLASS,
        "tests/http/test_writer.py::test_nothing_was_sent_to_a_client_that_left_before": _SUBCLASS,
        "tests/http/test_writer.py::test_stream_stopped_between_batches_ends_once": _SUBCLASS,
        "tests/observability/test_vendor_metrics.py::test_replaced_emulator_is_released": _REFERENCE,
        "tests/runtime/test_active.py::test_replaced_scenario_is_freed_without_garbage_collector": _REFERENCE,
        "tests/scenario/test_matching.py::test_a_rule_after_the_first_match_searches_nothing": _SUBCLASS,
    },
}


def find_reason(system: str, name: str) -> str | None:
    """Why a test cannot run on a system; ``None`` if it can."""
    return next((reason for prefix, reason in CANNOT.get(system, {}).items() if name.startswith(prefix)), None)


def skip(items: Sequence[pytest.Item], system: str) -> None:
    """Mark the tests that cannot run on a system."""
    for item in items:
        reason = find_reason(system, item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip(items, sys.platform)
    if is_compiled():
        skip(items, "compiled")
