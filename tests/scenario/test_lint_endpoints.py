"""Tests of warnings about unknown endpoints."""

import pytest

from emulator.scenario.lint import find_unknown_endpoints
from emulator.scenario.load import load_text

ROUTES = {
    "databricks": [
        "/serving-endpoints/{name}/invocations",
        "/serving-endpoints",
        "/files/{name}/{rest:path}",
        "/{rest:path}",
    ],
    "tgi": ["/generate", "/v1/chat/completions"],
}


@pytest.mark.covers("promises/first steps", "an endpoint nobody has")
@pytest.mark.parametrize(
    ("when", "says"),
    [
        pytest.param("{endpoint: /generate}", "", id="a path"),
        pytest.param("{endpoint: /serving-endpoints/llama/invocations}", "", id="a path with a name in it"),
        pytest.param("{endpoint: /serving-endpoints/*}", "", id="a glob"),
        pytest.param("{endpoint: '*/invocations'}", "", id="a glob over the beginning"),
        pytest.param("{endpoint: '/serving-endpoints/a*z/invocations'}", "", id="a glob inside a name"),
        pytest.param("{endpoint: '*'}", "", id="any"),
        pytest.param("{endpoint: /files/a/b/c/d}", "", id="a name may span slashes"),
        pytest.param("{endpoint: [/nothing, /generate]}", "", id="one of a list is enough"),
        pytest.param("{vendor: azure, endpoint: /nothing}", "", id="a vendor without known endpoints"),
        pytest.param(
            "{endpoint: /v1/chat/completion}",
            "has the endpoint /v1/chat/completion; did you mean /v1/chat/completions?",
            id="spelled alike",
        ),
        pytest.param(
            "{vendor: tgi, endpoint: /serving-endpoints}", "endpoint /serving-endpoints", id="another vendor's"
        ),
        pytest.param("{endpoint: /serving-endpoints/a/b/invocations}", "endpoint /serving", id="a name spans no slash"),
        pytest.param("{endpoint: /serving-endpoints//invocations}", "endpoint /serving", id="a name is not empty"),
        pytest.param("{endpoint: '/generate*z'}", "endpoint /generate*z", id="a glob with an unknown end"),
        pytest.param("{endpoint: /files/a/}", "endpoint /files/a/", id="a rest is not empty"),
    ],
)
def test_lint_reports_endpoint_no_vendor_has(when: str, says: str) -> None:
    loaded = load_text(f"version: 1\nrules: [{{name: a, when: {when}, pass: true}}]")
    rows = [f"{row.path}: {row.message}" for row in find_unknown_endpoints(loaded, ROUTES)]
    assert len(rows) == bool(says)
    assert all(
        row.startswith("rules[0].when.endpoint: no vendor the rule is about has ") and says in row for row in rows
    )
