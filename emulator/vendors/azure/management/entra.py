"""Microsoft Entra ID, for clients that fetch a token first: discovery documents and the client credentials flow.

Source: learn.microsoft.com, "OpenID Connect on the Microsoft identity platform", "OAuth 2.0 client credentials flow".
A client comes here by its authority, with instance discovery switched off.
"""

from urllib.parse import parse_qs

from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.vendors.azure.headers import JSON_TYPE
from emulator.vendors.azure.profile import AzureService

_LIFETIME = 3599  # seconds, as Entra ID gives a token of an application


def describe_tenant(request: Request, service: AzureService) -> Response:
    """``GET /{tenant}/v2.0/.well-known/openid-configuration``."""
    tenant = f"{request.base_url}/{request.params['tenant']}"
    return _answer(
        {
            "token_endpoint": f"{tenant}/oauth2/v2.0/token",
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "jwks_uri": f"{tenant}/discovery/v2.0/keys",
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "issuer": f"{tenant}/v2.0",
            "authorization_endpoint": f"{tenant}/oauth2/v2.0/authorize",
            "device_authorization_endpoint": f"{tenant}/oauth2/v2.0/devicecode",
            "end_session_endpoint": f"{tenant}/oauth2/v2.0/logout",
            "tenant_region_scope": None,
            "cloud_instance_name": "microsoftonline.com",
        }
    )


def describe_instance(request: Request, service: AzureService) -> Response:
    """``GET /common/discovery/instance``: this host is the only one of the cloud."""
    host = request.base_url.partition("://")[2]
    tenant = f"{request.base_url}/common/v2.0/.well-known/openid-configuration"
    names: JSON = {"preferred_network": host, "preferred_cache": host, "aliases": [host]}
    return _answer({"tenant_discovery_endpoint": tenant, "api-version": "1.1", "metadata": [names]})


def list_keys(request: Request, service: AzureService) -> Response:
    """``GET /{tenant}/discovery/v2.0/keys``: empty, because no token is signed."""
    return _answer({"keys": []})


def parse_token(request: Request, service: AzureService) -> Response:
    """``POST /{tenant}/oauth2/v2.0/token``: the client credentials flow of Entra ID.

    The token is the client secret itself, so the scenario's keys also decide about these clients.
    """
    form = parse_qs(request.body.decode("utf-8", "replace"))
    secret = form.get("client_secret", [""])[0]
    if form.get("grant_type") != ["client_credentials"]:
        return _error_token(400, "unsupported_grant_type", "The grant type is not client_credentials.")
    if service.principal(secret) is None:
        return _error_token(401, "invalid_client", "The client secret is not valid.")
    lifetime = {"expires_in": _LIFETIME, "ext_expires_in": _LIFETIME}
    return _answer({"token_type": "Bearer", **lifetime, "access_token": secret})


def _error_token(status: int, code: str, description: str) -> Response:
    return Response(status, dump_json({"error": code, "error_description": description}), (JSON_TYPE,))


def _answer(body: JSON) -> Response:
    return Response(200, dump_json(body), (JSON_TYPE,))
