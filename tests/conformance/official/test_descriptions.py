"""Which description holds for a URL, and which schema for an answer."""

import json
from pathlib import Path

import pytest

from tests.conformance.official.descriptions import Folder
from tests.conformance.official.walk import Description
from tests.http_client import Answer
from tests.untyped_json import JSON


def describe(path: str, media_type: str = "application/json", **schemas: JSON) -> JSON:
    """Return a description with one path that answers with schema ``A``."""
    content = {media_type: {"schema": {"$ref": "#/components/schemas/A"}}}
    post = {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/x/B"}}}}}
    answers = {"200": {"content": content}, "default": {"content": {"application/json": {"schema": {"$ref": "#/x/E"}}}}}
    return {"paths": {path: {"post": {**post, "responses": answers}}}, "components": {"schemas": {"A": {}, **schemas}}}


DISCOVERY: JSON = {
    "schemas": {"A": {"type": "object", "properties": {"id": {"type": "string"}}}},
    "resources": {
        "publishers": {
            "resources": {
                "models": {
                    "methods": {
                        name: {
                            "path": f"v1/{{+model}}:{name}",
                            "flatPath": f"v1/publishers/{{p}}/models/{{m}}:{name}",
                            "request": {"$ref": "A"},
                            "response": {"$ref": "A"},
                        }
                        for name in ("generateContent", "streamGenerateContent")
                    }
                }
            }
        }
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chat = "/deployments/{id}/chat/completions"
    documents = {
        "openapi": describe("/chat/completions"),
        "azure-openai-2024-02-01": describe(chat),
        "azure-openai-2024-10-21": describe(chat),
        "azure-openai-v1": describe("/chat/completions"),
        "kserve": describe("/v2/models/${MODEL_NAME}/versions/${MODEL_VERSION}/infer"),
        "tgi": describe("/", "text/event-stream"),
        "aiplatform": DISCOVERY,
        "other": describe("/"),
    }
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize(
    ("vendor", "target", "labels"),
    [
        ("azure", "/openai/v1/chat/completions", ["openapi", "azure-openai-v1"]),
        ("front", "/s/key/azure/openai/v1/chat/completions", ["openapi", "azure-openai-v1"]),
        (
            "azure",
            "/openai/deployments/d/chat/completions?api-version=2024-06-01",
            ["openapi", "azure-openai-2024-02-01"],
        ),
        (
            "azure",
            "/openai/deployments/d/chat/completions?api-version=2025-04-01-preview",
            ["openapi", "azure-openai-2024-10-21"],
        ),
        (
            "azure",
            "/openai/deployments/d/chat/completions?api-version=2023-05-15",
            ["openapi", "azure-openai-2024-02-01"],
        ),
        ("openvino", "/v2/models/m/infer", ["kserve"]),
        ("mindie", "/v2/models/m/versions/1/infer", ["kserve"]),
        ("tgi", "/", ["tgi"]),
        ("tgi", "/nowhere", []),
        ("databricks", "/serving-endpoints/gemini/v1beta/models/m:generateContent", ["aiplatform"]),
    ],
)
def test_description_holds_for_url(folder: Path, vendor: str, target: str, labels: list[str]) -> None:
    found = Folder(folder).find(vendor, "POST", target)
    assert [operation.label for operation in found] == labels
    assert all(operation.find_request() is not None for operation in found)


def test_schema_is_that_of_status_and_media_type(folder: Path) -> None:
    (root,) = Folder(folder).find("tgi", "POST", "/")
    assert root.find_answer(200, "text/event-stream") == {"$ref": "#/components/schemas/A"}
    assert root.find_answer(200, "application/json") is None
    assert root.find_answer(500, "application/json") == {"$ref": "#/x/E"}
    target = "/serving-endpoints/gemini/v1beta/models/m:streamGenerateContent"
    (stream,) = Folder(folder).find("databricks", "POST", target)
    assert stream.find_answer(200, "text/event-stream") == {"$ref": "A"}
    assert stream.find_answer(200, "application/json") == {"type": "array", "items": {"$ref": "A"}}


def test_observer_collects_deviations(folder: Path) -> None:
    pytest.importorskip("anthropic")
    from tests.conformance.official.observe import Observer

    observer = Observer(folder)
    head = b"POST /serving-endpoints/gemini/v1beta/models/m:generateContent HTTP/1.1"
    answer = Answer(b"HTTP/1.1 200 OK\r\nContent-Type: application/json", b'{"id": 5, "odd": 1}')
    observer.observe("databricks", head, b"{}", answer)
    assert [*observer.found] == [
        "aiplatform databricks A .id: int, not string",
        "aiplatform databricks A .odd: unknown",
    ]
    assert observer.answers == {"aiplatform": 1}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"type": "string", "nullable": True}, None, []),
        ({"type": "string", "enum": ["a"], "x-ms-enum": {"modelAsString": True}}, "b", []),
        ({"type": "array", "minItems": 1}, [], ["minItems 1"]),
        ({"type": "string", "maxLength": 1}, "ab", ["maxLength 1"]),
        ({"type": "number", "minimum": 0, "maximum": 2}, 3, ["maximum 2"]),
        ({"type": "number", "maximum": 2, "exclusiveMaximum": True}, 1, []),
        ({"type": "number", "exclusiveMaximum": 1}, 1, ["exclusiveMaximum 1"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}, ["int, not string"]),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {"a": 1}, ["unknown"]),
        ({"type": "any"}, True, []),
        (
            {
                "type": "object",
                "discriminator": {"propertyName": "type"},
                "properties": {"type": {"type": "string"}},
                "required": ["type"],
            },
            {"type": "x", "more": 1},
            [],
        ),
    ],
)
def test_compare_reads_every_dialect(schema: JSON, value: JSON, found: list[str]) -> None:
    document = {"paths": {}, "definitions": {"A": schema}}
    assert [deviation.kind for deviation in Description(document).compare("A", value)] == found
