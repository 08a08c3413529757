"""Endpoint table and definition of the ``azure`` vendor; ``url_kind.py`` has the URL prefixes of its services."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from emulator.core.calls import Parsed
from emulator.core.http import Request
from emulator.core.vendor import Endpoint, Vendor
from emulator.protocols.openai import messages
from emulator.vendors.azure.chat.parse import parse_chat
from emulator.vendors.azure.errors.render import render_error, render_late_error
from emulator.vendors.azure.models import list_deployments
from emulator.vendors.azure.profile import AzureService, ByProfile, profile_deployment
from emulator.vendors.azure.request import HEADERS, authenticate
from emulator.vendors.azure.settings import AzureSettings
from emulator.vendors.azure.url_kind import name_provider

AzureEndpoint = Endpoint[AzureSettings, ByProfile]
Parse = Callable[[Request, AzureService], Parsed]


_LATE: list[str] = []


class _Routes:
    """Module of parsers, imported once the server listens: all together would be a twelfth of the start."""

    def __init__(self, module: str) -> None:
        self._module = f"{__package__}.{module}"
        _LATE.append(self._module)

    def __getattr__(self, parser: str) -> Parse:
        return partial(_parse, self._module, parser)


def _parse(module: str, parser: str, request: Request, service: AzureService) -> Parsed:
    parse: Parse = getattr(import_module(module), parser)
    return parse(request, service)


batches = _Routes("batches")
files = _Routes("files")
speech = _Routes("audio.speech")
transcription = _Routes("audio.transcription")
stored = _Routes("chat.stored")
completions = _Routes("completions")
embeddings = _Routes("embeddings")
image_edits = _Routes("image_edits")
images = _Routes("images")
info = _Routes("info")
entra = _Routes("management.entra")
models = _Routes("management.models")
project = _Routes("management.project")
anthropic = _Routes("passthrough.anthropic")
message_batches = _Routes("passthrough.message_batches")
rerank = _Routes("passthrough.rerank")
conversations = _Routes("responses.conversations")
stored_responses = _Routes("responses.stored")
compaction = _Routes("responses.compaction")
responses = _Routes("responses.parse")
store_files = _Routes("vector_stores.files")
stores = _Routes("vector_stores.stores")


def _list_endpoints(method: str, route: str, parse: Parse) -> tuple[AzureEndpoint, AzureEndpoint]:
    """Return a route at the root and below prefixes: ``/models``, ``/openai/deployments/{name}``."""
    anywhere = f"/{{prefix:path}}{route}"
    return Endpoint(method=method, path=route, parse=parse), Endpoint(method=method, path=anywhere, parse=parse)


def _list_stateful(base: str, *rows: tuple[str, str, Parse]) -> list[AzureEndpoint]:
    """Return routes that read or change stored documents, each with its method and its path below ``base``."""
    return [
        Endpoint(method=method, path=f"{base}{path}", parse=parse, is_stateful=True) for method, path, parse in rows
    ]


VENDOR = Vendor(
    name="azure",
    title="Azure AI Model Inference",
    chat_path="/chat/completions?api-version=2024-05-01-preview",
    chat_model="mistral-small-2503",
    endpoints=(
        *_list_endpoints("POST", "/chat/completions", parse_chat),
        *_list_endpoints("POST", "/completions", completions.parse_completions),
        *_list_endpoints("POST", "/images/embeddings", embeddings.parse_image_embeddings),
        *_list_endpoints("POST", "/embeddings", embeddings.parse_embeddings),
        *_list_endpoints("POST", "/images/generations", images.parse_images),
        Endpoint(method="POST", path="/{prefix:path}/images/edits", parse=image_edits.parse_edit),
        *(
            Endpoint(method="POST", path=f"/{{prefix:path}}/audio/{route}", parse=parse)
            for route, parse in (
                ("transcriptions", transcription.parse_transcription),
                ("translations", transcription.parse_translation),
                ("speech", speech.parse_speech),
            )
        ),
        *_list_endpoints("GET", "/info", info.parse_info),
        *(
            Endpoint(method="GET", path=f"{base}{route}", parse=parse)
            for base in ("", "/endpoints/{deployment}")
            for route, parse in (
                ("/", info.parse_health),
                ("/health", info.parse_health),
                ("/swagger.json", info.parse_swagger),
            )
        ),
        *_list_stateful(
            "/{prefix:path}/responses",
            ("POST", "", responses.parse_responses),
            ("POST", "/input_tokens", responses.count_input),
            ("POST", "/compact", compaction.compact),
        ),
        *_list_stateful(
            "/{prefix:path}/conversations",
            ("POST", "", conversations.create),
            ("GET", "/{conversation}", conversations.retrieve),
            ("POST", "/{conversation}", conversations.update),
            ("DELETE", "/{conversation}", conversations.delete),
            ("POST", "/{conversation}/items", conversations.add_items),
            ("GET", "/{conversation}/items", conversations.show_items),
            ("GET", "/{conversation}/items/{item}", conversations.show_item),
            ("DELETE", "/{conversation}/items/{item}", conversations.delete_item),
        ),
        *_list_stateful(
            "/anthropic/v1/messages/batches",
            ("POST", "", message_batches.create),
            ("GET", "", message_batches.show_batches),
            ("GET", "/{batch}", message_batches.retrieve),
            ("GET", "/{batch}/results", message_batches.show_results),
            ("POST", "/{batch}/cancel", message_batches.cancel),
            ("DELETE", "/{batch}", message_batches.delete),
        ),
        *_list_stateful(
            "/{prefix:path}/vector_stores",
            ("POST", "", stores.create),
            ("GET", "", stores.show_stores),
            ("GET", "/{store}", stores.retrieve),
            ("POST", "/{store}", stores.update),
            ("DELETE", "/{store}", stores.delete),
            ("POST", "/{store}/search", stores.search),
            ("POST", "/{store}/files", store_files.add_file),
            ("GET", "/{store}/files", store_files.show_files),
            ("GET", "/{store}/files/{file}", store_files.show_file),
            ("POST", "/{store}/files/{file}", store_files.update_file),
            ("DELETE", "/{store}/files/{file}", store_files.delete_file),
            ("GET", "/{store}/files/{file}/content", store_files.show_content),
            ("POST", "/{store}/file_batches", store_files.add_batch),
            ("GET", "/{store}/file_batches/{batch}", store_files.retrieve_batch),
            ("POST", "/{store}/file_batches/{batch}/cancel", store_files.cancel_batch),
            ("GET", "/{store}/file_batches/{batch}/files", store_files.show_batch),
        ),
        *_list_stateful(
            "/{prefix:path}",
            ("POST", "/files", files.upload),
            ("GET", "/files", files.show_files),
            ("GET", "/files/{file}", files.show_file),
            ("GET", "/files/{file}/content", files.show_content),
            ("DELETE", "/files/{file}", files.delete_file),
            ("POST", "/batches", batches.create),
            ("GET", "/batches", batches.show_batches),
            ("GET", "/batches/{batch}", batches.retrieve),
            ("POST", "/batches/{batch}/cancel", batches.cancel),
        ),
        *_list_stateful(
            "/{prefix:path}/responses/{response}",
            ("GET", "", stored_responses.retrieve),
            ("DELETE", "", stored_responses.delete),
            ("POST", "/cancel", stored_responses.cancel),
            ("GET", "/input_items", stored_responses.list_input),
        ),
        *_list_stateful(
            "/{prefix:path}/chat/completions",
            ("GET", "", stored.list_stored),
            ("GET", "/{completion}", stored.retrieve_stored),
            ("POST", "/{completion}", stored.update_stored),
            ("DELETE", "/{completion}", stored.delete_stored),
            ("GET", "/{completion}/messages", stored.list_messages),
        ),
        Endpoint(method="POST", path="/{prefix:path}/rerank", parse=rerank.parse_rerank),
        Endpoint(method="GET", path="/openai/generated/{size}/{key}.png", parse=images.fetch_image, is_public=True),
        Endpoint(method="GET", path="/anthropic/v1/models", parse=anthropic.list_models),
        Endpoint(method="GET", path="/anthropic/v1/models/{model}", parse=anthropic.retrieve_model),
        Endpoint(method="GET", path="/{prefix:path}/models", parse=models.list_models),
        Endpoint(method="GET", path="/{prefix:path}/models/{model}", parse=models.retrieve_model),
        Endpoint(method="POST", path="/{prefix:path}/messages", parse=anthropic.parse_messages),
        Endpoint(method="POST", path="/{prefix:path}/messages/count_tokens", parse=anthropic.count_tokens),
        Endpoint(method="GET", path="/api/projects/{project}/deployments", parse=project.list_deployments),
        Endpoint(method="GET", path="/api/projects/{project}/deployments/{name}", parse=project.get_deployment),
        Endpoint(method="GET", path="/api/projects/{project}/connections", parse=project.list_connections),
        Endpoint(method="GET", path="/api/projects/{project}/connections/{name}", parse=project.get_connection),
        Endpoint(
            method="POST",
            path="/api/projects/{project}/connections/{name}/getConnectionWithCredentials",
            parse=project.open_connection,
        ),
        *(
            Endpoint(method="GET", path=path, parse=parse, is_public=True)
            for path, parse in (
                ("/common/discovery/instance", entra.describe_instance),
                ("/{tenant}/.well-known/openid-configuration", entra.describe_tenant),
                ("/{tenant}/v2.0/.well-known/openid-configuration", entra.describe_tenant),
                ("/{tenant}/discovery/v2.0/keys", entra.list_keys),
            )
        ),
        Endpoint(method="POST", path="/{tenant}/oauth2/v2.0/token", parse=entra.parse_token, is_public=True),
    ),
    settings=AzureSettings,
    catalogue=list_deployments,
    authenticate=authenticate,
    has_lasting_credential=lambda request: True,
    late_modules=_LATE,
    render_error=render_error,
    render_late_error=render_late_error,
    profile_deployment=profile_deployment,
    fields=messages.FIELDS,
    relevant_headers=HEADERS,
    provider=name_provider,
)
