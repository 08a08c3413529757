"""What becomes of every block of README and docs: the test that runs it, or why it is only shown."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page; ``language``: empty if none is named."""

    page: str
    language: str
    text: str

    @property
    def begins(self) -> str:
        return self.text.splitlines()[0]


def find_blocks() -> list[Block]:
    """All of them, in order."""
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [Block(page.name, *found) for page in PAGES for found in fence.findall(page.read_text(encoding="utf-8"))]


COMMANDS = "tests/tools/docs/test_commands.py::test_documented_shell_line_runs"
README = "tests/test_readme.py::test_every_python_example_prints_output"
POWERSHELL = "tests/test_readme.py::test_powershell_sends_request_of_first_example"
EXAMPLES = "tests/test_examples.py::test_client_page_examples_pass"
STEPS = "tests/tools/docs/test_pages.py::test_tutorial_steps_work"
SERVED = "tests/tools/docs/test_pages.py::test_documented_scenario_loads"
CI = "tests/tools/docs/test_ci.py::"
HOOKS = CI + "test_hook_and_action_usage_matches_declaration"
MISTAKE = "tests/tools/docs/test_pages.py::test_documented_check_error_matches_output"
VERIFIED = "tests/tools/docs/test_pages.py::test_documented_verify_mismatch_matches_output"
RECIPES = "tests/tools/docs/test_recipes.py::"
OFFLINE = "tests/tools/docs/test_offline.py::test_tutorial_runs_from_service_to_suite"
RESILIENCE = "tests/tools/docs/test_resilience.py::test_first_sweep_shows_the_documented_failures"
MENDED = "tests/tools/docs/test_resilience.py::test_mended_client_survives"
RUN_BY = [  # page, language, how it begins (empty: all of the page); the test that runs it
    ("README.md", "", "pip install .", COMMANDS),
    ("README.md", "", "curl ", "tests/test_readme.py::test_first_example_works"),
    ("README.md", "powershell", "Invoke-RestMethod", POWERSHELL),
    ("README.md", "python", "from openai", README),
    ("README.md", "yaml", "# yaml-language-server", "tests/test_readme.py::test_every_scenario_is_served"),
    ("README.md", "", "scenarios/slow.yaml:", MISTAKE),
    ("README.md", "python", "def test_", EXAMPLES),
    ("README.md", "python", "from emulator", EXAMPLES),
    ("README.md", "", 'pip install ".[test]"', COMMANDS),
    ("ci.md", "yaml", "version: 1", CI + "test_scenario_passes_strict_check"),
    ("ci.md", "python", '"""What', CI + "test_job_steps_run_against_emulator"),
    ("ci.md", "yaml", "# .github/workflows/tests.yml", CI + "test_job_steps_run_against_emulator"),
    ("ci.md", "yaml", "# .gitlab-ci.yml", CI + "test_job_steps_run_against_emulator"),
    ("ci.md", "python", '"""The same', CI + "test_plugin_runs_without_container"),
    ("ci.md", "yaml", "# .pre-commit", HOOKS),
    ("ci.md", "yaml", "# .github/workflows/scenarios.yml", HOOKS),
    ("ci.md", "yaml", "# mkdir", CI + "test_service_report_folder_is_mounted"),
    ("control.md", "json", "", VERIFIED),
    ("control.md", "", "", VERIFIED),
    ("image.md", "console", "", "tests/deploy/test_compose.py::test_documented_commands_fit_image"),
    (
        "kubernetes.md",
        "console",
        "",
        "tests/deploy/test_kubernetes.py::test_page_commands_match_manifests",
    ),
    ("kubernetes.md", "yaml", "", "tests/deploy/test_kubernetes.py::test_tls_names_include_service"),
    ("metrics.md", "yaml", "", "tests/tools/docs/test_metrics.py::test_documented_scrape_target_serves_metrics"),
    ("azure.md", "yaml", "", SERVED),
    ("mindie.md", "yaml", "", SERVED),
    ("openvino.md", "yaml", "", SERVED),
    ("tgi.md", "yaml", "", SERVED),
    ("performance.md", "", "", "tests/tools/docs/test_commands.py::test_documented_benchmark_options_parse"),
    ("recipes.md", "yaml", "", RECIPES + "test_check_finds_no_mistakes"),
    ("recipes.md", "python", "", RECIPES + "test_recipe_tests_pass"),
    ("recipes.md", "sh", "", RECIPES + "test_copied_requests_work"),
    ("offline.md", "sh", "", OFFLINE),
    ("offline.md", "python", "", OFFLINE),
    ("offline.md", "yaml", "", OFFLINE),
    ("resilience.md", "python", "# the mended app.py", MENDED),
    ("resilience.md", "python", "# app.py", RESILIENCE),
    ("resilience.md", "python", "# test_app.py", RESILIENCE),
    ("resilience.md", "sh", "", RESILIENCE),
    ("resilience.md", "text", "", RESILIENCE),
    ("recording.md", "text", "exchange 1", "tests/recording/test_exchange.py::test_documented_file_is_an_exchange"),
    ("replicas.md", "console", "", COMMANDS),
    ("scenarios.md", "yaml", "", SERVED),
    ("scenarios.md", "", "scenarios/slow.yaml:", MISTAKE),
    ("testing.md", "python", "", EXAMPLES),
    (
        "testing.md",
        "",
        "E   Assertion",
        "tests/tools/docs/test_failing.py::test_failing_test_output_matches_page",
    ),
    ("testing.md", "toml", "", "tests/test_pytest_plugin.py::test_documented_settings_work"),
    ("testing.md", "sh", "", "tests/client/test_light.py::test_plugin_with_emulator_command_needs_only_pydantic"),
    ("tls.md", "", "", COMMANDS),
    ("tls.md", "yaml", "", "tests/test_containers.py::test_documented_tls_service_matches_image"),
    ("traces.md", "sh", "", COMMANDS),
    ("traces.md", "python", "", EXAMPLES),
    ("tutorial.md", "sh", "", STEPS),
    ("tutorial.md", "python", "from openai", STEPS),
    ("tutorial.md", "yaml", "", STEPS),
    ("tutorial.md", "python", "import openai", "tests/tools/docs/test_pages.py::test_tutorial_tests_pass"),
    ("vendors.md", "python", "", README),
]
ENGINE = "it needs a container engine: `python -m tests.tools.docs.engine` runs it"
SHOWN = {  # page and how it begins: why nothing runs it
    ("ci.md", '"""A container'): ENGINE,
    ("ci.md", "// node"): ENGINE,
    ("ci.md", "docker run"): ENGINE,
}
