"""Custom models, which predict and do not chat."""

import pytest

from emulator.core.call import Deployment
from tests.parsed import JSON
from tests.vendors.databricks.harness import invoke, send, with_traits

CUSTOM = with_traits("custom")


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        pytest.param({"dataframe_split": {"columns": ["a"], "data": [[1], [2]]}}, 2, id="split"),
        pytest.param({"dataframe_records": [{"a": 1}]}, 1, id="records"),
        pytest.param({"instances": [1, 2, 3]}, 3, id="instances"),
        pytest.param({"inputs": {"a": [1, 2], "b": [3, 4]}}, 2, id="columns"),
        pytest.param({"inputs": [1], "databricks_options": {"return_trace": True}}, 1, id="a list, with options"),
        pytest.param({"messages": []}, None, id="a chat body"),
        pytest.param({"inputs": [1], "instances": [1]}, None, id="two inputs"),
        pytest.param({"dataframe_split": {"columns": []}}, None, id="no data"),
        pytest.param({"inputs": 5}, None, id="a number"),
    ],
)
def test_custom_models_predict(body: JSON, rows: int | None) -> None:
    answer = invoke("mine", body, deployments=CUSTOM)
    assert answer.status == (400 if rows is None else 200), answer.text
    assert rows is None or len(answer.body["predictions"]) == rows


def test_custom_models_and_agents_do_not_chat() -> None:
    agent = Deployment(vendor="databricks", name="agent", mode="custom", kind="agent")
    own = Deployment(vendor="databricks", name="scorer", mode="custom")
    messages: JSON = [{"role": "user", "content": "hi"}]
    for name, text in (("agent", "Please use 'input' field instead"), ("scorer", "does not support the chat task")):
        body = {"model": name, "messages": messages}
        answer = send("/serving-endpoints/chat/completions", body, deployments=(agent, own))
        assert answer.status == 400
        assert text in answer.message
