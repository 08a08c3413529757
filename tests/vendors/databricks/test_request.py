"""The way of a request to the entity that answers it."""

import pytest

from emulator.core.requests import Deployment
from tests.vendors.databricks.harness import (
    USER,
    mine,
    send,
    with_traits,
)


@pytest.mark.covers("databricks/inference routes", "POST {name}/served-models/{served}/invocations")
@pytest.mark.covers("databricks/lifecycle", "A/B split")
def test_traffic_is_split_between_served_models() -> None:
    split = with_traits(served_entities={"a": 0, "b": 100})
    assert mine(split).headers["served-model-name"] == "b"
    path = "/serving-endpoints/mine/served-models/{}/invocations"
    body = {"messages": [USER]}
    assert send(path.format("a"), body, deployments=split).headers["served-model-name"] == "a"
    missing = send(path.format("c"), body, deployments=split)
    assert (missing.status, missing.body["error_code"]) == (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.covers("databricks/errors", "400 of a stopped endpoint")
@pytest.mark.covers("databricks/catalogue", "retired ones")
@pytest.mark.parametrize(
    ("state", "status", "code"),
    [
        ("stopped", 400, "BAD_REQUEST"), ("loading", 503, "TEMPORARILY_UNAVAILABLE"),
        ("retired", 404, "ENDPOINT_NOT_FOUND"),
    ],
)  # fmt: skip
def test_unavailable_endpoint_returns_error(state: str, status: int, code: str) -> None:
    answer = mine((Deployment(vendor="databricks", name="mine", state=state),))
    assert (answer.status, answer.body["error_code"]) == (status, code)
