"""``/docs`` and the OpenAPI document."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

SHARED = {"/", "/generate", "/generate_stream", "/health", "/info", "/metrics"}
NEW = {"/chat_tokenize", "/invocations", "/tokenize", "/v1/chat/completions", "/v1/completions", "/v1/models"}


@pytest.mark.parametrize(("release", "paths"), [("3", SHARED | NEW), ("0.9.4", SHARED)])
async def test_openapi_document_lists_routes_of_release(start: Start, release: str, paths: set[str]) -> None:
    running = await start(f"vendors: {{tgi: {{profile: '{release}'}}}}\n")
    answer = await running.ask("tgi", "/api-doc/openapi.json", method="GET")
    document = answer.json()
    assert document["openapi"] == "3.0.3"
    assert set(document["paths"]) == paths
    schemas = document["components"]["schemas"]
    assert {name for name in list_references(document)} <= set(schemas)
    assert ("grammar" in schemas["GenerateParameters"]["properties"]) == (release == "3")


def list_references(value: JSON) -> list[str]:
    """Return the names of the schemas that a document refers to."""
    if isinstance(value, list):
        return [name for item in value for name in list_references(item)]
    if not isinstance(value, dict):
        return []
    found = [str(value["$ref"]).rpartition("/")[2]] if "$ref" in value else []
    return found + [name for inner in value.values() for name in list_references(inner)]


async def test_openapi_fields_have_types(start: Start) -> None:
    running = await start("")
    document = (await running.ask("tgi", "/api-doc/openapi.json", method="GET")).json()
    fields = document["components"]["schemas"]["GenerateParameters"]["properties"]
    assert fields["top_k"] == {"type": "integer", "nullable": True}
    assert fields["details"] == {"type": "boolean"}
    assert fields["stop"] == {"type": "array", "items": {"type": "string"}}


async def test_docs_redirects_to_path_with_slash(start: Start) -> None:
    running = await start("")
    bare = await running.ask("tgi", "/docs", method="GET")
    assert (bare.status, bare.header("location")) == (303, "/docs/")
    page = await running.ask("tgi", "/docs/", method="GET")
    assert page.header("content-type") == "text/html"
    assert b"POST /v1/chat/completions" in page.body
