"""Every profile and release of a vendor has its streams as goldens, so a new one without them does not pass."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from emulator.vendors import VENDORS

_HERE = Path(__file__).parent
ALIASES: Mapping[str, frozenset[str]] = {"openvino": frozenset({"seed", "latest"})}
STREAMS: Mapping[str, str] = {
    "azure": "chat_stream tools_stream",
    "mindie": """
        stream stream_stop generate_stream chat_stream chat_tools_stream chat_reasoning_stream completions_stream
        infer_stream triton_generate_stream vllm_stream
    """,
    "tgi": "root_stream generate_stream error_validation_stream error_overloaded_stream",
    "openvino": """
        chat_stream chat_stream_usage chat_stream_error chat_tools_stream chat_reasoning_stream completions_stream
    """,
}
ONLY: Mapping[tuple[str, str], str] = {
    ("azure", "aoai"): "chat_stream_usage filtered_stream",
    ("azure", "maas"): "completions_stream",
    ("azure", "seed"): "completions_stream",
    ("mindie", "strict"): """
        chat_beams_stream chat_choices_stream completions_beams_stream completions_choices_stream
        triton_statistics_stream
    """,
    ("tgi", "0.9.4"): "invocations_stream",
    ("tgi", "3"): """
        chat_stream chat_tools_stream chat_usage_stream chat_logprobs_stream completions_stream
        completions_prompts_stream generate_stream_top_tokens invocations_chat_stream
    """,
    ("openvino", "2025.0"): "chat_stop_stream injected_filter_stream",
    ("openvino", "2026.2"): "responses_stream",
    ("openvino", "2026.3"): "responses_stream",
}
"""Streams of routes that not every profile has, or of shapes that are the same in all."""


def _list_profiles(vendor: str) -> list[str]:
    known = get_args(VENDORS[vendor].settings.model_fields["profile"].annotation)
    return [profile for profile in known if profile not in ALIASES.get(vendor, ())]


_PROFILES = [(vendor, profile) for vendor in STREAMS for profile in _list_profiles(vendor)]


@pytest.mark.parametrize(("vendor", "profile"), _PROFILES)
def test_every_profile_has_stream_goldens(vendor: str, profile: str) -> None:
    found = {
        path.stem.partition("_")[2]
        for path in (_HERE / vendor / "golden").glob(f"{profile}_*.http")
        if "stream" in path.stem
    }
    assert found == {*STREAMS[vendor].split(), *ONLY.get((vendor, profile), "").split()}


@pytest.mark.parametrize("vendor", STREAMS)
def test_goldens_match_existing_profiles(vendor: str) -> None:
    named = {path.stem.partition("_")[0] for path in (_HERE / vendor / "golden").iterdir()}
    assert named == set(_list_profiles(vendor))


@pytest.mark.parametrize(("vendor", "profile"), _PROFILES)
def test_stream_golden_is_event_stream(vendor: str, profile: str) -> None:
    for path in (_HERE / vendor / "golden").glob(f"{profile}_*stream.http"):
        answer = path.read_text().partition("-" * 72)[2]
        assert "content-type: text/event-stream" in answer.lower()
