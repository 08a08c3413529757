"""The endpoints every workspace comes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from emulator.core.call import Deployment
from emulator.core.json import JSON
from emulator.core.vendor import VendorSettings
from emulator.vendors.databricks.families import Family, find_family

PRECONFIGURED_AT = 1733875200  # Unix seconds
_TOKENIZERS: Mapping[Family, str] = MappingProxyType({"gpt-oss": "gpt", "claude": "claude", "gpt": "gpt"})


def _chat(
    name: str, context: int, max_output: int | None, model: str = "", entity: str = "", **traits: JSON
) -> Deployment:
    family = find_family(model, name)
    tokenizer = "qwen2" if "qwen" in name else "mistral" if "mixtral" in name else _TOKENIZERS.get(family, "llama3")
    return Deployment(
        vendor="databricks",
        name=f"databricks-{name}",
        model=model,
        context=context,
        max_output=max_output,
        tokenizer=tokenizer,
        traits={"functions": True, **traits, "entity": f"system.ai.{entity or 'databricks-' + name}"},
    )


def _embedder(name: str, context: int, model: str, entity: str, *, normalized: bool, tokenizer: str) -> Deployment:
    return Deployment(
        vendor="databricks",
        name=f"databricks-{name}",
        task="embeddings",
        model=model,
        context=context,
        normalized=normalized,
        tokenizer=tokenizer,
        traits={"entity": f"system.ai.{entity}", "resizable": "qwen" in name},
    )


def _completer(name: str, model: str) -> Deployment:
    return Deployment(
        vendor="databricks",
        name=f"databricks-{name}",
        task="completions",
        model=model,
        context=8192,
        tokenizer="mpt",
        traits={"entity": f"system.ai.{name.replace('-', '_')}"},
    )


def _llama(version: str, date: str, entity: str) -> Deployment:
    major, minor, size = version.split("-")
    model = f"meta-llama-{major}.{minor}-{size}-instruct-{date}"
    return _chat(f"meta-llama-{version}-instruct", 128_000, 8192, model, entity)


# Source: docs.databricks.com, "Databricks-hosted foundation models" and "Model Serving limits"; where they
# are silent, litellm's model map. Version suffixes of most `model` values are unverified.
_OPEN = (
    _llama("3-3-70b", "121024", "llama_v3_3_70b_instruct"),
    *(_llama(f"3-1-{size}", "072424", f"meta_llama_v3_1_{size}_instruct") for size in ("8b", "70b", "405b")),
    _chat("meta-llama-3-70b-instruct", 8192, 4096, "meta-llama-3-70b-instruct-041824", "meta_llama_3_70b_instruct"),
    _chat("llama-2-70b-chat", 4096, 4096, "llama-2-70b-chat-072623", "llama_2_70b_chat_hf", functions=False),
    _chat("mixtral-8x7b-instruct", 32_768, 4096, "mixtral-8x7b-instruct-v0.1", "mixtral_8x7b_instruct_v0_1"),
    _chat("dbrx-instruct", 32_000, 4000, "dbrx-instruct-032724", "dbrx_instruct"),
    _chat(
        "llama-4-maverick", 128_000, 8192, "meta-llama-4-maverick-040225", "llama-4-maverick",
        vision=True, content_parts=True,
    ),
    _chat(
        "gemma-3-12b", 128_000, 8192, "gemma-3-12b-it-031225", "gemma-3-12b-it",
        vision=True, content_parts=True, output_limit="new", functions=False,
    ),
    _chat("gpt-oss-120b", 131_072, 25_000, "gpt-oss-120b-080525", "gpt-oss-120b", output_limit="new"),
    _chat("gpt-oss-20b", 131_072, 25_000, "gpt-oss-20b-080525", "gpt-oss-20b", output_limit="new"),
    _chat(
        "qwen3-next-80b-a3b-instruct", 262_144, None, "qwen3-next-80b-a3b-instruct-091025",
        "qwen3-next-80b-a3b-instruct", content_parts=True,
    ),
    _chat(
        "qwen35-122b-a10b", 262_144, 25_000, "qwen3.5-122b-a10b",
        reasoning="always", content_style="list", content_parts=True, output_limit="new",
    ),
)  # fmt: skip
_MILLION = 1_000_000
_CLAUDE = (
    *(_chat(f"claude-{name}", 200_000, 64_000) for name in ("haiku-4-5", "sonnet-4-5", "opus-4-5")),
    replace(_chat("claude-sonnet-4", 200_000, 64_000), default_max_tokens=1000),
    _chat("claude-3-7-sonnet", 200_000, 64_000),
    _chat("claude-opus-4-1", 200_000, 32_000),
    _chat("claude-sonnet-4-6", _MILLION, 64_000),
    _chat("claude-opus-4-6", _MILLION, 128_000),
    *(_chat(f"claude-{name}", _MILLION, 128_000, fixed_sampling=True) for name in ("opus-4-7", "opus-4-8", "sonnet-5")),
)
_GPT = (
    *(_chat(f"gpt-5{name}", 272_000, 128_000) for name in ("", "-mini", "-nano", "-1", "-2", "-4-mini", "-4-nano")),
    *(_chat(f"gpt-{name}", 922_000, 128_000) for name in ("5-4", "5-5")),
    _chat("gpt-5-5-pro", 922_000, 128_000, responses_only=True),
    *(
        _chat(f"gpt-{name}", 272_000, 128_000, responses_only=True)
        for name in ("5-3-codex", "5-1-codex-max", "5-1-codex-mini", "5-2-codex")
    ),
)
_GEMINI = (
    _chat("gemini-2-5-pro", 1_048_576, 65_536),
    _chat("gemini-2-5-flash", 1_048_576, 65_535),
    *(
        _chat(f"gemini-{name}", 1_048_576, 65_536, content_style="list", thought_signature=True)
        for name in ("3-1-pro", "3-5-flash", "3-1-flash-lite", "3-flash", "3-pro")
    ),
)
_OTHERS = (
    _completer("mpt-7b-instruct", "mpt-7b-8k-instruct"),
    _completer("mpt-30b-instruct", "mpt-30b-8k-instruct"),
    _embedder("bge-large-en", 512, "bge-large-en-v1.5", "bge_large_en_v1_5", normalized=True, tokenizer="bert"),
    _embedder("gte-large-en", 8192, "gte-large-en-v1.5", "gte_large_en_v1_5", normalized=False, tokenizer="bert"),
    _embedder(
        "qwen3-embedding-0-6b", 32_768, "qwen3-embedding-0.6b", "qwen3-embedding-0-6b",
        normalized=True, tokenizer="qwen2",
    ),
)  # fmt: skip
CATALOGUE = (*_OPEN, *_CLAUDE, *_GPT, *_GEMINI, *_OTHERS)


def list_deployments(settings: VendorSettings) -> tuple[Deployment, ...]:
    """The preconfigured pay-per-token endpoints, the retired ones of the reference among them."""
    return CATALOGUE
