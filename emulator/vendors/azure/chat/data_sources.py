"""Validate the data sources of a chat with Azure OpenAI On Your Data, at every depth.

Source: Azure/azure-rest-api-specs, AzureOpenAI inference, 2024-10-21 and 2025-03-01-preview
(``azureChatExtensionConfiguration``); the texts are pydantic's, as in microsoft/semantic-kernel issue 11337 and
owndev/Open-WebUI-Functions issue 62, and the body that of Azure/azure-rest-api-specs issue 31115.
"""

from collections.abc import Iterator, Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object
from emulator.vendors.azure.errors.types import ON_YOUR_DATA

_Fields = Mapping[str, str]
_TYPES: Mapping[str, tuple[type, str]] = {
    "string": (str, "Input should be a valid string"),
    "integer": (int, "Input should be a valid integer"),
    "boolean": (bool, "Input should be a valid boolean"),
    "list": (list, "Input should be a valid list"),
    "object": (dict, "Input should be a valid dictionary or object to extract fields from"),
}
_COMMON: _Fields = {
    "authentication": "authentication",
    "top_n_documents": "integer",
    "max_search_queries": "integer",
    "allow_partial_result": "boolean",
    "in_scope": "boolean",
    "strictness": "integer",
    "role_information": "string",
    "include_contexts": "list",
    "index_name": "string",
    "fields_mapping": "object",
    "embedding_dependency": "embedding",
}
_SEARCHED: _Fields = {**_COMMON, "endpoint": "string", "query_type": "string"}
_PARAMETERS: Mapping[str, tuple[_Fields, Sequence[str]]] = {
    "azure_search": (
        {**_SEARCHED, "semantic_configuration": "string", "filter": "string"},
        ("endpoint", "index_name", "authentication"),
    ),
    "azure_cosmos_db": (
        {**_COMMON, "database_name": "string", "container_name": "string"},
        ("database_name", "container_name", "index_name", "authentication", "fields_mapping", "embedding_dependency"),
    ),
    "elasticsearch": (_SEARCHED, ("endpoint", "index_name", "authentication")),
    "mongo_db": (
        {**_COMMON, "endpoint": "string", "database_name": "string", "collection_name": "string", "app_name": "string"},
        (
            "endpoint",
            "database_name",
            "collection_name",
            "app_name",
            "index_name",
            "authentication",
            "fields_mapping",
            "embedding_dependency",
        ),
    ),
    "pinecone": (
        {**_COMMON, "environment": "string"},
        ("environment", "index_name", "authentication", "fields_mapping", "embedding_dependency"),
    ),
}
_TAGGED: Mapping[str, Mapping[str, tuple[_Fields, Sequence[str]]]] = {
    "authentication": {
        "api_key": ({"key": "string"}, ("key",)),
        "connection_string": ({"connection_string": "string"}, ("connection_string",)),
        "key_and_key_id": ({"key": "string", "key_id": "string"}, ("key", "key_id")),
        "encoded_api_key": ({"encoded_api_key": "string"}, ("encoded_api_key",)),
        "access_token": ({"access_token": "string"}, ("access_token",)),
        "username_and_password": ({"username": "string", "password": "string"}, ("username", "password")),
        "system_assigned_managed_identity": ({}, ()),
        "user_assigned_managed_identity": (
            {"managed_identity_resource_id": "string"},
            ("managed_identity_resource_id",),
        ),
    },
    "embedding": {
        "endpoint": (
            {"endpoint": "string", "authentication": "authentication", "dimensions": "integer"},
            ("endpoint", "authentication"),
        ),
        "deployment_name": ({"deployment_name": "string", "dimensions": "integer"}, ("deployment_name",)),
        "model_id": ({"model_id": "string"}, ("model_id",)),
        "integrated": ({}, ()),
    },
}


def validate_sources(sources: Sequence[Object], *, strict: bool) -> None:
    """Raise for all members of the data sources that do not fit; unless ``strict`` for unknown types alone.

    Raises:
        EmulatedError: 400 in the form of On Your Data.
    """
    found = [text for position, source in enumerate(sources) for text in _check(source, f"#/data_sources/{position}")]
    if not strict:
        found = [text for text in found if text.partition(": ")[0].count("/") == 2]  # of a source itself
    if found:
        text = "\n".join(f"Validation error at {text}" for text in found)
        raise EmulatedError(ErrorKind.INVALID_REQUEST, text, details={"code": ON_YOUR_DATA})


def _check(source: Object, where: str) -> Iterator[str]:
    kind = source.get("type")
    if kind is None:
        yield f"{where}: Unable to extract tag using discriminator 'type'"
        return
    if not isinstance(kind, str) or kind not in _PARAMETERS:
        yield f"{where}: {_describe_tag(kind, _PARAMETERS)}"
        return
    place = f"{where}/{kind}"
    for name in source:
        if name not in ("type", "parameters"):
            yield f"{place}/{name}: Extra inputs are not permitted"
    if "parameters" not in source:
        yield f"{place}/parameters: Field required"
        return
    fields, required = _PARAMETERS[kind]
    yield from _check_fields(source["parameters"], fields, required, f"{place}/parameters")


def _check_fields(value: JSON, fields: _Fields, required: Sequence[str], where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {_TYPES['object'][1]}"
        return
    for name in required:
        if name not in value:
            yield f"{where}/{name}: Field required"
    for name, inner in value.items():
        if name not in fields:
            yield f"{where}/{name}: Extra inputs are not permitted"
        elif inner is not None or name in required:
            yield from _check_value(inner, fields[name], f"{where}/{name}")


def _check_value(value: JSON, kind: str, where: str) -> Iterator[str]:
    if kind in _TYPES:
        wanted, text = _TYPES[kind]
        if not isinstance(value, wanted) or (kind == "integer" and isinstance(value, bool)):
            yield f"{where}: {text}"
        return
    tags = _TAGGED[kind]
    tag = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or tag is None:
        yield f"{where}: Unable to extract tag using discriminator 'type'"
    elif not isinstance(tag, str) or tag not in tags:
        yield f"{where}: {_describe_tag(tag, tags)}"
    else:
        fields, required = tags[tag]
        yield from _check_fields(value, {"type": "string", **fields}, required, f"{where}/{tag}")


def _describe_tag(tag: JSON, tags: Mapping[str, object]) -> str:
    names = ", ".join(f"'{name}'" for name in tags)
    return f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {names}"
