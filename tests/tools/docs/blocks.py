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


COMMANDS = "tests/tools/docs/test_commands.py::test_every_line_of_a_shell_works"
README = "tests/test_readme.py::test_every_example_in_python_prints_something"
EXAMPLES = "tests/test_examples.py::test_what_the_page_shows_works"
STEPS = "tests/tools/docs/test_pages.py::test_the_steps_of_the_tutorial_work"
SERVED = "tests/tools/docs/test_pages.py::test_a_scenario_is_served"
CI = "tests/tools/docs/test_ci.py::"
HOOKS = CI + "test_the_hook_and_the_action_are_used_as_they_are_declared"
MISTAKE = "tests/tools/docs/test_pages.py::test_a_mistake_is_reported_as_it_is_shown"
VERIFIED = "tests/tools/docs/test_pages.py::test_an_expectation_is_held_against_the_calls_as_it_is_shown"
RECIPES = "tests/tools/docs/test_recipes.py::"
RUN_BY = [  # page, language, how it begins (empty: all of the page); the test that runs it
    ("README.md", "", "pip install . &&", COMMANDS),
    ("README.md", "", "curl ", "tests/test_readme.py::test_the_first_example_works_as_it_is_copied"),
    ("README.md", "python", "from openai", README),
    ("README.md", "yaml", "# yaml-language-server", "tests/test_readme.py::test_every_scenario_is_served"),
    ("README.md", "", "scenarios/slow.yaml:", MISTAKE),
    ("README.md", "python", "def test_", EXAMPLES),
    ("README.md", "python", "from emulator", EXAMPLES),
    ("README.md", "", "pip install '.[test]'", COMMANDS),
    ("ci.md", "yaml", "version: 1", CI + "test_the_scenario_has_no_mistake"),
    ("ci.md", "python", '"""What', CI + "test_the_steps_work_beside_an_emulator"),
    ("ci.md", "yaml", "# .github/workflows/tests.yml", CI + "test_the_steps_work_beside_an_emulator"),
    ("ci.md", "yaml", "# .gitlab-ci.yml", CI + "test_the_steps_work_beside_an_emulator"),
    ("ci.md", "python", '"""The same', CI + "test_the_plugin_needs_no_container"),
    ("ci.md", "yaml", "# .pre-commit", HOOKS),
    ("ci.md", "yaml", "# .github/workflows/scenarios.yml", HOOKS),
    ("ci.md", "yaml", "# mkdir", CI + "test_the_service_writes_its_report_to_a_folder_that_is_mounted"),
    ("control.md", "json", "", VERIFIED),
    ("control.md", "", "", VERIFIED),
    ("image.md", "console", "", "tests/deploy/test_compose.py::test_the_commands_of_the_page_fit_the_image"),
    (
        "kubernetes.md",
        "console",
        "",
        "tests/deploy/test_kubernetes.py::test_the_commands_of_the_page_fit_the_manifests",
    ),
    ("kubernetes.md", "yaml", "", "tests/deploy/test_kubernetes.py::test_certificates_name_the_service"),
    ("metrics.md", "yaml", "", "tests/tools/docs/test_metrics.py::test_what_is_to_be_scraped_is_there"),
    ("mindie.md", "yaml", "", SERVED),
    ("openvino.md", "yaml", "", SERVED),
    ("performance.md", "", "", "tests/tools/docs/test_commands.py::test_measurements_take_the_options_that_are_shown"),
    ("recipes.md", "yaml", "", RECIPES + "test_check_finds_nothing_to_say"),
    ("recipes.md", "python", "", RECIPES + "test_the_tests_pass"),
    ("recipes.md", "sh", "", RECIPES + "test_the_requests_work_as_they_are_copied"),
    ("replicas.md", "console", "", COMMANDS),
    ("scenarios.md", "yaml", "", SERVED),
    ("scenarios.md", "", "scenarios/slow.yaml:", MISTAKE),
    ("testing.md", "python", "", EXAMPLES),
    (
        "testing.md",
        "",
        "E   Assertion",
        "tests/tools/docs/test_failing.py::test_a_failing_test_says_what_the_page_shows",
    ),
    ("testing.md", "toml", "", "tests/test_pytest_plugin.py::test_the_settings_that_the_page_shows_work"),
    ("testing.md", "sh", "", "tests/client/test_light.py::test_pydantic_suffices_beside_a_command"),
    ("tls.md", "", "", COMMANDS),
    ("tls.md", "yaml", "", "tests/test_containers.py::test_the_documented_service_with_tls_fits_the_image"),
    ("traces.md", "sh", "", COMMANDS),
    ("traces.md", "python", "", EXAMPLES),
    ("tutorial.md", "sh", "", STEPS),
    ("tutorial.md", "python", "from openai", STEPS),
    ("tutorial.md", "yaml", "", STEPS),
    ("tutorial.md", "python", "import openai", "tests/tools/docs/test_pages.py::test_the_tests_of_the_tutorial_pass"),
    ("vendors.md", "python", "", README),
]
ENGINE = "it needs a container engine: `python -m tests.tools.docs.engine` runs it"
SHOWN = {  # page and how it begins: why nothing runs it
    ("ci.md", '"""A container'): ENGINE,
    ("ci.md", "// node"): ENGINE,
    ("ci.md", "docker run"): ENGINE,
}
