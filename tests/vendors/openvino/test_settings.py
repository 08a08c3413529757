"""Releases by their switches, and each switch on its own."""

from dataclasses import fields

import pytest
from pydantic import ValidationError

from emulator.vendors.openvino.release import RELEASES, Release
from emulator.vendors.openvino.settings import OpenVinoSettings

_RELEASES = ["2024.2", "2025.0", "2025.1", "2025.2", "2025.3", "2025.4", "2026.1", "2026.2", "2026.3"]


@pytest.mark.covers("openvino/releases", "stream error status", case="stream error status")
@pytest.mark.covers("openvino/releases", "unary usage", case="unary usage")
@pytest.mark.covers("openvino/releases", "length", case="length")
@pytest.mark.covers("openvino/releases", "stop", case="stop")
@pytest.mark.covers("openvino/releases", "max_tokens_limit", case="max_tokens_limit")
@pytest.mark.covers("openvino/releases", "ignore_eos", case="ignore_eos")
@pytest.mark.covers("openvino/releases", "integers as floats", case="integers as floats")
@pytest.mark.covers("openvino/releases", "null", case="null")
@pytest.mark.covers("openvino/releases", "temperature", case="temperature")
@pytest.mark.covers("openvino/releases", "max_completion_tokens", case="max_completion_tokens")
@pytest.mark.covers("openvino/releases", "speculative", case="speculative")
@pytest.mark.covers("openvino/releases", "diversity_penalty", case="diversity_penalty")
@pytest.mark.covers("openvino/releases", "model length", case="model length")
@pytest.mark.covers("openvino/releases", "response_format", case="response_format")
@pytest.mark.covers("openvino/releases", "key order", case="key order")
@pytest.mark.covers("openvino/releases", "handshake", case="handshake")
@pytest.mark.covers("openvino/releases", "chunk split", case="chunk split")
@pytest.mark.covers("openvino/releases", "seed", case="seed")
@pytest.mark.covers("openvino/releases", "top_k, min_p, skip_special_tokens", case="top_k, min_p, skip_special_tokens")
@pytest.mark.covers("openvino/releases", "not ready", case="not ready")
@pytest.mark.covers("openvino/releases", "metrics", case="metrics")
@pytest.mark.parametrize(
    ("switch", "values"),
    [
        pytest.param("v3_v1_alias", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="the alias v3/v1"),
        pytest.param("v1_alias", [0, 0, 0, 0, 0, 0, 0, 0, 1], id="the alias v1"),
        pytest.param("embeddings", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="embeddings and rerank"),
        pytest.param("models_list", [0, 0, 0, 0, 1, 1, 1, 1, 1], id="models list"),
        pytest.param("content_type_routing", [0, 0, 0, 1, 1, 1, 1, 1, 1], id="content type routing"),
        pytest.param("api_keys", [0, 0, 0, 0, 0, 1, 1, 1, 1], id="API key"),
        pytest.param("cors", [0, 0, 0, 0, 1, 1, 1, 1, 1], id="CORS"),
        pytest.param("stream_error_status", [200, 200, 200, 400, 400, 400, 400, 400, 400], id="stream error status"),
        pytest.param("unary_usage", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="unary usage"),
        pytest.param("length_reason", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="length"),
        pytest.param("stop_limit", [0, 4, 16, 16, 16, 16, 16, 16, 16], id="stop"),
        pytest.param("max_tokens_limit", [0, 4096, 0, 0, 0, 0, 0, 0, 0], id="max_tokens_limit"),
        pytest.param("ignore_eos_limit", [4000, 4000, 0, 0, 0, 0, 0, 0, 0], id="ignore_eos"),
        pytest.param("integer_floats", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="integers as floats"),
        pytest.param("null_is_absent", [0, 0, 1, 1, 1, 1, 1, 1, 1], id="null"),
        pytest.param("temperature", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="temperature"),
        pytest.param("max_completion_tokens", [0, 1, 1, 1, 1, 1, 1, 1, 1], id="max_completion_tokens"),
        pytest.param("speculative", ["none", *["strict"] * 2, *["lenient"] * 6], id="speculative"),
        pytest.param("diversity_penalty", [1, 1, 1, 0, 0, 0, 0, 0, 0], id="diversity_penalty"),
        pytest.param("message_rule", ["strings", "parts", "both", *["role"] * 6], id="messages"),
        pytest.param("model_length", [0, 0, 1, 1, 1, 1, 1, 1, 1], id="model length"),
        pytest.param("tools", [*["ignored"] * 3, "unary", *["streamed"] * 5], id="tools"),
        pytest.param("tool_choice_required", [0, 0, 0, 0, 1, 1, 1, 1, 1], id="required"),
        pytest.param("tool_calls_reason", [0, 0, 0, 0, 0, 0, 1, 1, 1], id="tool_calls"),
        pytest.param("response_format", [*["ignored"] * 4, "json_schema", *["any"] * 4], id="response_format"),
        pytest.param("finish_reason_last", [0, 0, 0, 0, 0, 0, 1, 1, 1], id="key order"),
        pytest.param("handshake", [0, 0, 0, 0, 0, 0, 1, 1, 1], id="handshake"),
        pytest.param("chunk_split", [*["blank"] * 2, *["delay"] * 7], id="chunk split"),
        pytest.param("random_seed", [0, 0, 0, 0, 0, 0, 0, 1, 1], id="seed"),
        pytest.param("full_checks", [0, 0, 0, 0, 0, 0, 0, 1, 1], id="top_k, min_p, skip_special_tokens"),
        pytest.param("not_ready_status", [500, 500, 500, 500, 500, 500, 500, 503, 503], id="not ready"),
        pytest.param("metrics_text", [0, 0, 0, 0, 0, 1, 1, 1, 1], id="metrics"),
        pytest.param("tf_serving", [1, 1, 1, 1, 1, 1, 1, 1, 0], id="TensorFlow Serving"),
        pytest.param("responses_endpoint", [0, 0, 0, 0, 0, 0, 0, 1, 1], id="responses"),
        pytest.param("tokenize", [*["none"] * 5, "embeddings", "all", "all", "all"], id="tokenize"),
    ],
)
def test_matrix(switch: str, values: list[object]) -> None:
    assert [getattr(RELEASES[name], switch) for name in _RELEASES] == values


@pytest.mark.covers("openvino/releases", "names of releases")
@pytest.mark.covers("openvino/decisions", "1 release of the manual")
def test_aliases() -> None:
    assert OpenVinoSettings().release is not RELEASES["seed"]
    assert OpenVinoSettings().release == RELEASES["seed"] == RELEASES["2025.0"]
    assert OpenVinoSettings(profile="latest").release == RELEASES["2026.3"]
    assert all(RELEASES[name].name == name for name in [*_RELEASES, "2026.0"])


def test_every_release_switch_is_documented_setting() -> None:
    switches = {field.name for field in fields(Release)} - {"version"}
    assert switches <= set(OpenVinoSettings.model_fields)
    assert all(field.description for field in OpenVinoSettings.model_fields.values())


def test_switch_overrides_profile() -> None:
    release = OpenVinoSettings(profile="latest", stop_limit=4, tf_serving=True).release
    assert (release.stop_limit, release.tf_serving, release.cors) == (4, True, True)


def test_release_can_be_unquoted_number() -> None:
    assert OpenVinoSettings.model_validate({"profile": 2026.3}).release.name == "2026.3"
    assert OpenVinoSettings.model_validate({"profile": 2025.0}).release.name == "2025.0"


@pytest.mark.parametrize(
    "section",
    [
        {"profile": "2023.0"},
        {"no_such_switch": 1},
        {"tools": "maybe"},
        {"stop_limit": -1},
        {"unauthorized_status": 200},
        {"stream_error_status": 1000},
    ],
)
def test_invalid_setting_is_rejected(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        OpenVinoSettings.model_validate(section)
