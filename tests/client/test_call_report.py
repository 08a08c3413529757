"""Report of the calls of a failed test."""

import json
import re

from emulator.client import EmulatorClient
from emulator.client.call_report import describe_calls, describe_unmatched
from emulator.core.json import as_array, as_object
from tests.client.app import PATH, ask
from tests.report_page import read_details, read_run


def test_call_report_lists_each_call_with_reason_if_unmatched(session: EmulatorClient) -> None:
    session.load(
        {
            "strict": True,
            "rules": [
                {"name": "late", "when": {"prompt": "late"}, "faults": [{"type": "disconnect", "after_tokens": 2}]},
                {"name": "no", "when": {"prompt": "no"}, "error": {"kind": "rate_limited"}},
                {"name": "yes", "when": {"prompt": "yes"}, "pass": True},
            ],
        }
    )
    url = session.url("databricks")
    for prompt in ("no", "no", "yes", "other"):
        ask(url, prompt)
    ask(f"{url}/nowhere")
    text = describe_calls(session.requests())
    plain = re.sub(r"#\d+", "#", re.sub(r"\d+\.\d+ s", "… s", text)).splitlines()
    assert plain[:5] == [
        "5 calls made:",
        f"  # POST {PATH} 429  rate_limited  rule 'no'  … s",
        f"  # POST {PATH} 429  attempt 2  rate_limited  rule 'no'  … s",
        f"  # POST {PATH} 200  rule 'yes'  … s",
        f"  # POST {PATH} 501  unmatched  … s",
    ]
    assert plain[5].startswith("      No rule matched. The nearest is ")
    assert plain[6] == f"  # POST /nowhere{PATH} 404  not_found  … s"
    assert len(plain) == 8
    assert describe_unmatched(session.requests(error="unmatched")).startswith("1 call matches no rule, and the scen")


def test_call_report_is_bounded(session: EmulatorClient) -> None:
    ask(session.url("databricks"))
    calls = session.requests() * 1000
    lines = describe_calls(calls).splitlines()
    assert (len(lines), lines[0], lines[1]) == (62, "1000 calls made:", "  … 940 lines before these")
    assert describe_calls([]) == "no calls were made"


def test_page_contains_only_session_calls_and_loads_no_resources(session: EmulatorClient) -> None:
    ask(session.url("databricks"), "</script><script>alert(1)</script>")
    page = session.report("test_<x>", "it failed & fell")
    run = read_run(page)
    assert (run["title"], run["outcome"]) == ("test_<x>", "it failed & fell")
    assert [as_object(call)["path"] for call in as_array(run["calls"])] == [PATH]
    [detail] = read_details(page)
    assert json.loads(detail)["request"]["body"]["messages"][0]["content"] == "</script><script>alert(1)</script>"
    assert "dapi-app" not in page + detail
    assert "<script>alert" not in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)|@import|url\(""", page.split("<script>")[0])
