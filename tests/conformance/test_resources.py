"""The page of openai's own tests is made from a report, and no failure on it is without its reason."""

import pytest

from tests.conformance.resources import FILE, PASS, UNEXPLAINED, Outcome, read_outcome, read_report, render

_CHAT = "tests.api_resources.chat.test_completions.TestAsyncCompletions"
_REPORT = f"""
<testsuites><testsuite>
<testcase classname="{_CHAT}" name="test_method_create_overload_1[loose]"/>
<testcase classname="{_CHAT}" name="test_raw_response_create_overload_1[strict]"/>
<testcase classname="{_CHAT}" name="test_method_list_with_all_params[loose]">
<failure message="openai.BadRequestError: Error code: 400 - Invalid 'limit': integer out of range."/></testcase>
<testcase classname="{_CHAT}" name="test_method_delete[loose]"><error message="OSError: gone"/></testcase>
</testsuite></testsuites>
"""


@pytest.mark.parametrize(
    ("name", "message", "outcome"),
    [
        pytest.param(
            "test_streaming_response_create_overload_2[aiohttp]",
            None,
            Outcome("chat.completions", "create, streamed", PASS),
            id="a stream",
        ),
        pytest.param(
            "test_method_create_with_all_params_overload_1[loose]",
            "openai.BadRequestError: Error code: 400 - Unknown parameter: 'x'.\nmore",
            Outcome("chat.completions", "create, with every parameter", "400: Unknown parameter: 'x'."),
            id="a refusal",
        ),
        pytest.param(
            "test_path_params_retrieve[strict]",
            "openai.NotFoundError: Error code: 404 - Response with id 'resp_67' not found.",
            Outcome("chat.completions", "retrieve, with an empty id", "404: Response with id '…' not found."),
            id="an id",
        ),
    ],
)
def test_read_outcome_names_resource_and_result(name: str, message: str | None, outcome: Outcome) -> None:
    assert read_outcome(_CHAT, name, message) == outcome


def test_render_counts_passes_and_gives_reasons() -> None:
    page = render(read_report(_REPORT), "openai 1.0")
    assert "openai 1.0: 2 of 4 pass" in page
    assert "| chat.completions | create | 2 | pass |  |\n" in page
    assert "| 1 | 400: Invalid 'limit': integer out of range. | the service refuses this value of the mock |" in page
    assert f"| chat.completions | delete | 1 | gone | {UNEXPLAINED} |\n" in page


def test_committed_page_explains_every_failure() -> None:
    rows = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]
    reasons = [row.split(" | ")[-1].strip(" |") for row in rows if "| pass |" not in row]
    assert reasons
    assert UNEXPLAINED not in reasons
