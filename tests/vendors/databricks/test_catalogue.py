"""The endpoints every workspace comes with."""

import pytest

from emulator.core.call import Deployment
from emulator.vendors.databricks.routes import VENDOR
from emulator.vendors.databricks.settings import DatabricksSettings
from tests.parsed import JSON
from tests.vendors.databricks.harness import LLAMA, USER, chat, invoke, send

CATALOGUE = VENDOR.catalogue(DatabricksSettings())


def test_names_are_unique_and_every_task_has_an_endpoint() -> None:
    assert len({d.name for d in CATALOGUE}) == len(CATALOGUE)
    assert {d.task for d in CATALOGUE} == {"chat", "completions", "embeddings"}


@pytest.mark.parametrize("deployment", CATALOGUE, ids=[d.name for d in CATALOGUE])
def test_every_endpoint_answers(deployment: Deployment) -> None:
    bodies: JSON = {"completions": {"prompt": "x"}, "embeddings": {"input": "x"}, "chat": {"messages": [USER]}}
    body = {"input": "x"} if deployment.traits.get("responses_only") else bodies[deployment.task]
    answer = invoke(deployment.name, body)
    assert answer.status == 200, answer.text


def test_codex_answers_responses_only() -> None:
    assert "does not support the chat task" in chat("databricks-gpt-5-3-codex").message


def test_models_are_listed_for_openai_tools() -> None:
    body = send("/serving-endpoints/models").body
    assert body["object"] == "list"
    assert {"id": LLAMA, "object": "model", "created": 1733875200, "owned_by": "databricks"} in body["data"]
