"""Custom models, which predict and do not chat."""

import pytest

from emulator.core.requests import Deployment
from tests.conftest import Start
from tests.http_client import Answer
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import invoke, send, with_traits
from tests.vendors.databricks.management.api import CUSTOM as CUSTOM_ENTITY
from tests.vendors.databricks.management.api import open_workspace

CUSTOM = with_traits("custom")


@pytest.mark.covers("databricks/tasks", "custom, four forms")
@pytest.mark.covers("databricks/tasks", "custom, a chat", case="a chat body")
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


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([[1]], "Dataframe split format must be a dictionary. Got list."),
        (5, "Dataframe split format must be a dictionary. Got type <class 'int'>."),
        ({"columns": ["a"]}, "optionally 'columns' and 'index' fields. Got {'columns'}.'"),
        ({}, "optionally 'columns' and 'index' fields. Got set().'"),
        ({"data": [[1]], "rows": 1}, "optionally 'columns' and 'index' fields. Got {'data', 'rows'}.'"),
        ({"data": [[1]], "columns": True}, "must be called with a collection of some kind, True was passed'"),
        ({"data": [[1]], "columns": "a"}, "must be called with a collection of some kind, 'a' was passed'"),
        ({"data": [[1, 2]], "columns": ["a"]}, "Error: '1 columns passed, passed data had 2 columns'"),
    ],
)
def test_invalid_frame_is_refused_as_mlflow_does(frame: JSON, message: str) -> None:
    answer = invoke("mine", {"dataframe_split": frame}, deployments=CUSTOM)
    assert answer.status == 400
    assert message in answer.message


@pytest.mark.parametrize("frame", [{"data": [[1], [2]]}, {"data": [1, 2], "index": [5, 6]}])
def test_frame_needs_no_columns(frame: JSON) -> None:
    answer = invoke("mine", {"dataframe_split": frame}, deployments=CUSTOM)
    assert len(answer.body["predictions"]) == 2


@pytest.mark.covers("databricks/tasks", "agent, messages")
def test_custom_models_and_agents_refuse_chat() -> None:
    agent = Deployment(vendor="databricks", name="agent", mode="custom", kind="agent")
    own = Deployment(vendor="databricks", name="scorer", mode="custom")
    messages: JSON = [{"role": "user", "content": "hi"}]
    for name, text in (("agent", "Please use 'input' field instead"), ("scorer", "does not support the chat task")):
        body = {"model": name, "messages": messages}
        answer = send("/serving-endpoints/chat/completions", body, deployments=(agent, own))
        assert answer.status == 400
        assert text in answer.message


async def test_scenario_sets_predictions(start: Start) -> None:
    rules = """
deployments: [{vendor: databricks, name: mine, mode: custom}]
rules:
  - {name: some, when: {deployment: mine, prompt: {contains: some}}, reply: {json: [0.5, {label: a}]}}
  - {name: text, when: {deployment: mine, prompt: {contains: text}}, reply: {text: fraud}}
  - {name: full, when: {deployment: mine}, error: {kind: overloaded}}
"""
    workspace = await open_workspace(start, "", rules)

    async def predict(value: str) -> Answer:
        return await workspace.call("POST", "/mine/invocations", {"inputs": [value]}, base="/serving-endpoints")

    assert (await predict("some")).json() == {"predictions": [0.5, {"label": "a"}]}
    assert (await predict("text")).json() == {"predictions": ["fraud"]}
    assert (await predict("other")).status == 503


async def test_custom_models_obey_rate_limits(start: Start) -> None:
    workspace = await open_workspace(start, "")
    await workspace.make(CUSTOM_ENTITY)
    rule = {"calls": 1, "key": "endpoint", "renewal_period": "minute"}
    await workspace.call("PUT", "/mine/ai-gateway", {"rate_limits": [rule]})
    asked = [
        await workspace.call("POST", "/mine/invocations", {"inputs": [1]}, base="/serving-endpoints") for _ in range(2)
    ]
    assert [answer.status for answer in asked] == [200, 429]
