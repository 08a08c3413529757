"""``emulator explain``: the matching rule, and why others do not match."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main
from tests.untyped_json import JSON

REQUEST = {
    "vendor": "openvino",
    "method": "POST",
    "path": "/v3/chat/completions",
    "headers": {"x-emulator-session": "s"},
    "body": {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]},
}


@pytest.fixture
def write_request(tmp_path: Path) -> Callable[[JSON], str]:
    """Return a function that writes a request, as text or JSON, and returns the path of its file."""

    def write(request: JSON) -> str:
        file = tmp_path / "request.json"
        file.write_text(request if isinstance(request, str) else json.dumps(request))
        return str(file)

    return write


@pytest.mark.covers("language/commands", "explain")
@pytest.mark.parametrize(
    ("rules", "rule", "failed"),
    [
        pytest.param("[{name: a, when: {vendor: tgi}, pass: true}]", None, ["vendor"], id="none takes it"),
        pytest.param(
            "[{name: a, times: {nth: 2}, pass: true}, {name: b, when: {session: s}, pass: true}]",
            "b",
            ["times.nth", None],
            id="the second takes it",
        ),
        pytest.param(
            "[{name: a, times: {probability: 0}, pass: true}]", None, ["times.probability"], id="a draw decides"
        ),
    ],
)
def test_explain_reports_matching_rule_and_failed_facets(
    write_request: Callable[[JSON], str],
    scenario: Callable[[str], str],
    rules: str,
    rule: str | None,
    failed: list[str | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = write_request(REQUEST)
    path = scenario(f"version: 1\nrules: {rules}\n")
    assert main(["explain", path, request, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rule"], [word["failed"] for word in said["explanation"]]) == (rule, failed)
    assert main(["explain", path, request]) == 0
    text = capsys.readouterr().out
    assert "matched" in text
    if "probability" in rules:
        assert "drew 0." in text


@pytest.mark.parametrize(
    ("request_text", "says"),
    [
        pytest.param("{", "is not JSON", id="not JSON"),
        pytest.param("[]", "expected an object; a request looks like", id="no object"),
        pytest.param('{"vendor": "tgi"}', "path: field required; a request looks like", id="no path"),
        pytest.param('{"vendor": "tgl", "path": "http://["}', "did you mean tgi?", id="no such vendor, no URL"),
        pytest.param('{"vendor": "tgl", "path": "/"}', "did you mean tgi?", id="no such vendor"),
    ],
)
def test_explain_rejects_malformed_request(
    write_request: Callable[[JSON], str],
    scenario: Callable[[str], str],
    request_text: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = write_request(request_text)
    assert main(["explain", scenario("version: 1\nrules: [{name: a, pass: true}]\n"), request]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.covers("promises/first steps", "explain names the limit")
@pytest.mark.parametrize(
    ("amount", "says"),
    [
        pytest.param(
            50, "limits[0] can never be met: 400 output tokens asked, there are 50 in all", id="a limit never met"
        ),
        pytest.param(500, "", id="a limit that is not exhausted"),
    ],
)
def test_explain_names_refusing_limit(
    write_request: Callable[[JSON], str],
    scenario: Callable[[str], str],
    amount: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 400}
    request = write_request({**REQUEST, "body": asked})
    path = scenario(f"version: 1\nlimits: [{{unit: output_tokens, amount: {amount}, window: 60s}}]\n")
    assert main(["explain", path, request]) == 0
    refused = f"No rules apply.\nIt is refused: rate_limited; {says}.\n"
    assert capsys.readouterr().out == (refused if says else "No rule matched.\n")
    assert main(["explain", path, request, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["why"] == (says or None)


@pytest.mark.parametrize(
    ("request_text", "says"),
    [
        pytest.param(
            '{"vendor": "databricks", "path": "/serving-endpoints/chat/completions", "body": {}}',
            'invalid_parameter; {"error_code":"BAD_REQUEST","message":"Missing required parameter: \'model\'"}',
            id="without hint: its words",
        ),
        pytest.param(
            '{"vendor": "databricks", "path": "/serving-endpoints/chat/completions", "body": {"model": "x"}}',
            "not_found; no deployment `x`; there are",
            id="a hint",
        ),
        pytest.param(
            '{"vendor": "tgi", "path": "/v1/chat/completions", "headers": {"content-type": "text/plain"}, "body": {}}',
            "invalid_request; Expected request with `Content-Type: application/json`",
            id="its own content type",
        ),
        pytest.param(
            '{"vendor": "azure", "path": "/openai/v1/models", "headers": {"API-KEY": "other"}}',
            "unauthenticated; ",
            id="its own credential",
        ),
    ],
)
def test_explain_says_why_a_vendor_refuses_before_rules(
    write_request: Callable[[JSON], str],
    scenario: Callable[[str], str],
    request_text: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = write_request(request_text)
    path = scenario("version: 1\nkeys: [{token: k, principal: p}]\nrules: [{name: a, pass: true}]\n")
    assert main(["explain", path, request]) == 0
    assert capsys.readouterr().out.startswith(f"No rules apply.\nIt is refused: {says}")


@pytest.mark.parametrize(
    ("vendor", "path", "model"),
    [
        ("databricks", "/serving-endpoints/chat/completions", "databricks-meta-llama-3-3-70b-instruct"),
        ("databricks", "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", ""),
        ("azure", "/openai/v1/chat/completions", "gpt-4o"),
        ("azure", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", ""),
        ("azure", "http://[::1]:4012/openai/deployments/gpt%2D4o/chat/completions?api-version=2024-10-21#x", ""),
        ("mindie", "/v1/chat/completions", "llama_65b"),
        ("tgi", "/v1/chat/completions", "tgi"),
        ("openvino", "/v3/chat/completions", "llama3"),
    ],
)
@pytest.mark.parametrize("keys", ["", "keys: [{token: k, principal: p}]\n"], ids=["any key", "keys"])
def test_explain_needs_no_headers(
    write_request: Callable[[JSON], str],
    scenario: Callable[[str], str],
    vendor: str,
    path: str,
    model: str,
    keys: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]} | ({"model": model} if model else {})
    request = write_request({"vendor": vendor, "path": path, "body": body})
    assert main(["explain", scenario(f"version: 1\n{keys}rules: [{{name: a, pass: true}}]\n"), request]) == 0
    assert capsys.readouterr().out == "'a': matched.\n"
