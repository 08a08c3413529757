"""The endpoints every workspace comes with."""

import pytest

from emulator.core.requests import Deployment
from emulator.vendors.databricks.routes import VENDOR
from emulator.vendors.databricks.settings import DatabricksSettings
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import LLAMA, USER, chat, invoke, send

CATALOGUE = VENDOR.catalogue(DatabricksSettings())


def test_names_are_unique_and_every_task_has_endpoint() -> None:
    assert len({d.name for d in CATALOGUE}) == len(CATALOGUE)
    assert {d.task for d in CATALOGUE} == {"chat", "completions", "embeddings"}


@pytest.mark.covers("databricks/catalogue", "the long tail")
@pytest.mark.parametrize("deployment", CATALOGUE, ids=[d.name for d in CATALOGUE])
def test_every_endpoint_answers(deployment: Deployment) -> None:
    bodies: JSON = {"completions": {"prompt": "x"}, "embeddings": {"input": "x"}, "chat": {"messages": [USER]}}
    body = {"input": "x"} if deployment.traits.get("responses_only") else bodies[deployment.task]
    answer = invoke(deployment.name, body)
    assert answer.status == 200, answer.text


@pytest.mark.covers("databricks/catalogue", "codex")
def test_codex_rejects_chat() -> None:
    assert "does not support the chat task" in chat("databricks-gpt-5-3-codex").message


@pytest.mark.covers("databricks/inference routes", "GET models")
def test_models_are_listed_for_openai_tools() -> None:
    body = send("/serving-endpoints/models").body
    assert body["object"] == "list"
    assert {"id": LLAMA, "object": "model", "created": 1733875200, "owned_by": "databricks"} in body["data"]


# Context, most tokens of an answer, limits of the Enterprise tier (tokens in, tokens out, queries an hour), Unity
# Catalog. Sources: Databricks, "Supported models" and "Model Serving limits and regions"; litellm's map of models.
CORE: dict[str, tuple[int, int | None, tuple[int | None, int | None, int | None], str]] = {
    "meta-llama-3-3-70b-instruct": (128_000, 8192, (200_000, 10_000, 2400), "system.ai.llama_v3_3_70b_instruct"),
    "meta-llama-3-1-8b-instruct": (128_000, 8192, (200_000, 10_000, 7200), "system.ai.meta_llama_v3_1_8b_instruct"),
    "meta-llama-3-1-405b-instruct": (128_000, 8192, (5000, 500, 1200), "system.ai.meta_llama_v3_1_405b_instruct"),
    "llama-4-maverick": (128_000, 8192, (200_000, 10_000, 2400), "system.ai.llama-4-maverick"),
    "gemma-3-12b": (128_000, 8192, (200_000, 10_000, 7200), "system.ai.gemma-3-12b-it"),
    "gpt-oss-120b": (131_072, 25_000, (None, None, None), "system.ai.gpt-oss-120b"),
    "gpt-oss-20b": (131_072, 25_000, (None, None, None), "system.ai.gpt-oss-20b"),
    "qwen3-next-80b-a3b-instruct": (
        262_144, None, (200_000, 10_000, None), "system.ai.qwen3-next-80b-a3b-instruct",
    ),
    "qwen35-122b-a10b": (262_144, 25_000, (200_000, 10_000, None), "system.ai.databricks-qwen35-122b-a10b"),
    "claude-haiku-4-5": (200_000, 64_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-haiku-4-5"),
    "claude-sonnet-4": (200_000, 64_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-sonnet-4"),
    "claude-sonnet-4-5": (200_000, 64_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-sonnet-4-5"),
    "claude-sonnet-4-6": (1_000_000, 64_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-sonnet-4-6"),
    "claude-opus-4-1": (200_000, 32_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-opus-4-1"),
    "claude-opus-4-5": (200_000, 64_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-opus-4-5"),
    "claude-opus-4-8": (1_000_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-claude-opus-4-8"),
    "gpt-5": (272_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-gpt-5"),
    "gpt-5-2": (272_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-gpt-5-2"),
    "gpt-5-4": (922_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-gpt-5-4"),
    "gpt-5-4-nano": (272_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-gpt-5-4-nano"),
    "gpt-5-5-pro": (922_000, 128_000, (200_000, 20_000, 360_000), "system.ai.databricks-gpt-5-5-pro"),
    "gemini-2-5-pro": (1_048_576, 65_536, (200_000, 20_000, 360_000), "system.ai.databricks-gemini-2-5-pro"),
    "gemini-2-5-flash": (1_048_576, 65_535, (200_000, 20_000, 360_000), "system.ai.databricks-gemini-2-5-flash"),
    "gemini-3-1-pro": (1_048_576, 65_536, (200_000, 20_000, 360_000), "system.ai.databricks-gemini-3-1-pro"),
    "bge-large-en": (512, None, (None, None, 2_160_000), "system.ai.bge_large_en_v1_5"),
    "gte-large-en": (8192, None, (None, None, 540_000), "system.ai.gte_large_en_v1_5"),
    "qwen3-embedding-0-6b": (32_768, None, (None, None, 2_160_000), "system.ai.qwen3-embedding-0-6b"),
    "mpt-7b-instruct": (8192, None, (None, None, None), "system.ai.mpt_7b_instruct"),
    "mixtral-8x7b-instruct": (32_768, 4096, (None, None, None), "system.ai.mixtral_8x7b_instruct_v0_1"),
    "dbrx-instruct": (32_000, 4000, (None, None, None), "system.ai.dbrx_instruct"),
    "llama-2-70b-chat": (4096, 4096, (None, None, None), "system.ai.llama_2_70b_chat_hf"),
}  # fmt: skip


@pytest.mark.covers(
    "databricks/catalogue",
    "meta-llama-3-3-70b-instruct",
    "meta-llama-3-1-8b-instruct",
    "meta-llama-3-1-405b-instruct",
    "llama-4-maverick",
    "gemma-3-12b",
    "gpt-oss-120b",
    "gpt-oss-20b",
    "qwen3-next-80b-a3b-instruct",
    "qwen35-122b-a10b",
    "claude-haiku-4-5",
    "claude-sonnet-4",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-opus-4-8",
    "gpt-5",
    "gpt-5-2",
    "gpt-5-4",
    "gpt-5-4-nano",
    "gpt-5-5-pro",
    "gemini-2-5-pro",
    "gemini-2-5-flash",
    "gemini-3-1-pro",
    "bge-large-en",
    "gte-large-en",
    "qwen3-embedding-0-6b",
    "mpt-7b-instruct",
    "mixtral-8x7b-instruct",
    "dbrx-instruct",
    "llama-2-70b-chat",
)
@pytest.mark.parametrize("name", CORE)
def test_endpoint_matches_published_limits(name: str) -> None:
    (found,) = (deployment for deployment in CATALOGUE if deployment.name == f"databricks-{name}")
    tiers = found.traits.get("limits")
    limits = tiers.get("enterprise", {}) if isinstance(tiers, dict) else {}
    assert isinstance(limits, dict)
    reported = tuple(limits.get(limit) for limit in ("itpm", "otpm", "qph"))
    assert (found.context, found.max_output, reported, found.traits["entity"]) == CORE[name]
