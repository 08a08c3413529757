"""Issue and verify personal access tokens and OAuth tokens; every route authenticates with ``authenticate``.

An issued token is a function of its grant and secret, so every replica can verify it without storage.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import Object, as_integer, as_text, dump_text, parse_json
from emulator.core.redaction.credentials import fingerprint
from emulator.core.rng import draw_alphanumeric, draw_hex, draw_uuid
from emulator.protocols.auth import basic_credentials, bearer_token
from emulator.vendors.databricks.errors import BAD_TOKEN, NO_CREDENTIAL
from emulator.vendors.databricks.headers import answer_json, base_headers
from emulator.vendors.databricks.profile import DatabricksService

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
OBJECT_PREFIX = "/serving-endpoints/"  # prefix of an endpoint's object path; its id follows
_TOKENS = "/oidc/v1/token"  # the only path that a refresh token grants
_REFRESH_LIFETIME = 30 * 86_400  # lifetime of a refresh token (unverified)
# Scopes other than ``all-apis``, with the path prefixes that each grants. Scopes of other services grant none.
_SERVING = ("/serving-endpoints", "/api/2.0/serving-endpoints", "/ai-gateway")
_IDENTITY = ("/api/2.0/preview/scim",)
_SCOPES: Mapping[str, tuple[str, ...]] = {
        "model-serving": _SERVING, "serving.serving-endpoints": _SERVING, "iam": _IDENTITY, "openid": _IDENTITY,
        "profile": _IDENTITY, "email": _IDENTITY, "offline_access": (),
        "sql": (), "clusters": (), "jobs": (), "workspace": (),
    }  # fmt: skip
_URI = "%:/?#[]@!$&'()*+,;=~"  # RFC 3986, section 2.2


def authenticate(request: Request, service: DatabricksService) -> str:
    """Return the principal of a bearer token, or of a Basic password of the user ``token``.

    Raises:
        EmulatedError: 401 without a credential, 403 with an invalid one.
    """
    token = bearer_token(request) or _parse_password(request)
    if not token:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, NO_CREDENTIAL)
    grant = parse_grant(token)
    principal = _find_owner(token, grant, service)
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, BAD_TOKEN, status=403)
    if grant is not None and not _covers(grant, request.path):
        text = "Provided OAuth token does not have required scopes"  # wording unverified
        raise EmulatedError(ErrorKind.FORBIDDEN, text)
    return principal


def is_lasting(request: Request) -> bool:
    """Return whether the credential of a request is none that was issued, which expires."""
    return parse_grant(bearer_token(request) or _parse_password(request)) is None


def principal_of(token: str, service: DatabricksService) -> str | None:
    """Return the principal of a configured token, or of a valid one issued for a configured token."""
    return _find_owner(token, parse_grant(token), service)


def _parse_password(request: Request) -> str:
    """Return the Basic password of the user ``token``; empty if there is none."""
    user, password = basic_credentials(request) or ("", "")
    return password if user == "token" else ""


def _find_owner(token: str, grant: Grant | None, service: DatabricksService) -> str | None:
    """Return the principal of a token and its parsed grant."""
    if grant is not None and service.clock.now() >= grant.expires:
        return None
    principal = service.principal(token)
    if principal is not None or service.keys is None or grant is None:
        return principal
    key = _find_key(token, grant, service)
    return None if key is None else service.keys[key]


def _find_key(token: str, grant: Grant, service: DatabricksService) -> str | None:
    """Return the configured token for which a token was issued."""
    return next((key for key in service.keys or () if token == issue(grant, fingerprint(key))), None)


@fast_dataclass(frozen=True, slots=True)
class Grant:
    """Claims of an issued token.

    Fields:
        scopes: scopes as requested, separated by spaces.
        path: path of the only object that it grants; empty: no restriction.
        expires: Unix seconds.
    """

    client: str
    scopes: str
    path: str
    expires: int


def issue(grant: Grant, secret: str) -> str:
    """Return an access token that looks like a JWT but has no signature; ``secret``: fingerprint of the secret."""
    claims = dump_text([grant.scopes, grant.path, grant.expires])
    seal = draw_alphanumeric(b"", 40, "oauth", grant.client, claims, secret)
    return f"{_encode(grant.client)}.{_encode(claims)}.{seal}"


def parse_grant(token: str) -> Grant | None:
    """Return the claims of an issued token; ``None`` for any other token."""
    if token.count(".") != 2:
        return None
    client, encoded_claims, _ = token.split(".")
    try:
        claims = parse_json(_decode(encoded_claims))
    except ValueError:
        return None
    if not isinstance(claims, list) or [type(claim) for claim in claims] != [str, str, int]:
        return None
    return Grant(_decode(client), as_text(claims[0]), as_text(claims[1]), as_integer(claims[2]))


def validate_direct(request: Request, endpoint_id: str) -> None:
    """Raise unless an OAuth token grants a route-optimized address; a token for an endpoint grants only that one.

    Source: docs.databricks.com, "Query route-optimized serving endpoints"; both texts are unverified.

    Raises:
        EmulatedError: 401 for another kind of token, 403 for one of another endpoint.
    """
    grant = parse_grant(bearer_token(request) or "")
    if grant is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, "Route-optimized endpoints accept OAuth tokens only.")
    if grant.path and grant.path != f"{OBJECT_PREFIX}{endpoint_id}":
        raise EmulatedError(ErrorKind.FORBIDDEN, f"Provided OAuth token is not for '{OBJECT_PREFIX}{endpoint_id}'")


def show_tenant(request: Request, service: DatabricksService) -> Response:
    """``GET /aad/auth``, ``/oidc/oauth2/v2.0/authorize``: redirect from which clients on Azure take the tenant."""
    tenant = draw_uuid(b"", "tenant", service.settings.workspace_id)
    path = "oauth2/authorize" if request.path == "/aad/auth" else "oauth2/v2.0/authorize"
    location = f"https://login.microsoftonline.com/{tenant}/{path}"
    return Response(302, b"", (("Location", location), *base_headers(request, service.settings)))


def _covers(grant: Grant, path: str) -> bool:
    """Return whether a token grants a path; one for a single object grants nothing but its address."""
    if grant.path == _TOKENS:
        return False
    if grant.path:
        return path.count("/serving-endpoints/") == 1 and not path.startswith(("/serving-endpoints", "/api/"))
    scopes = grant.scopes.split()
    if "all-apis" in scopes:
        return True
    return any(path.startswith(prefix) for scope in scopes for prefix in _SCOPES[scope])


def serve_token(request: Request, service: DatabricksService) -> Response:
    """``POST /oidc/v1/token``: client credentials, token exchange, refresh.

    Source: databricks-sdk, ``oauth.py`` and ``credentials_provider.py``.
    """
    form = _parse_form(request)
    grant = form.get("grant_type", "")
    if grant not in ("client_credentials", "authorization_code", "refresh_token", _EXCHANGE, _ASSERTION):
        raise _error_oauth("unsupported_grant_type", f"Grant type {grant!r} is not supported", 400)
    client, secret = basic_credentials(request) or (form.get("client_id", ""), form.get("client_secret", ""))
    if grant != "client_credentials":
        client, secret = client or "databricks-cli", _find_proof(grant, form)
    secret, suffix = _split_proof(secret) if not request.key_suffix else (secret, request.key_suffix)
    if principal_of(secret, service) is None:
        if grant != "client_credentials":
            raise _error_oauth("invalid_grant", "The grant is invalid or expired", 400)
        raise _error_oauth("invalid_client", "Client authentication failed", 401)
    before = parse_grant(secret)
    scopes, lifetime = _parse_scopes(form, before), service.settings.token_lifetime_s
    now, proof = int(service.clock.now()), _find_secret(secret, before, service)
    token = issue(Grant(client, scopes, _parse_path(form), now + lifetime), proof) + suffix
    answer: Object = {"access_token": token, "scope": scopes, "token_type": "Bearer"}
    if grant in ("authorization_code", "refresh_token"):
        answer["refresh_token"] = issue(Grant(client, scopes, _TOKENS, now + _REFRESH_LIFETIME), proof) + suffix
    return answer_json({**answer, "expires_in": lifetime}, request, service.settings)


def _find_secret(secret: str, grant: Grant | None, service: DatabricksService) -> str:
    """Return the secret that seals new tokens: the same for a token and for those exchanged for it."""
    if service.keys is None:
        return secret
    key = None if grant is None else _find_key(secret, grant, service)
    return fingerprint(secret if key is None else key)


def serve_authorize(request: Request, service: DatabricksService) -> Response:
    """``GET /oidc/v1/authorize``: consent is immediate; the code stands for the first configured token."""
    target = request.query.get("redirect_uri", "")
    if not target or "\r" in target or "\n" in target:
        raise _error_oauth("invalid_request", "redirect_uri is required", 400)
    code = _issue_code(next(iter(service.keys)), service) if service.keys else draw_hex(request.key, "code")
    answer = {"code": code, **({"state": request.query["state"]} if "state" in request.query else {})}
    location = f"{quote(target, safe=_URI, errors='surrogateescape')}{'&' if '?' in target else '?'}{urlencode(answer)}"
    return Response(302, b"", (("Location", location), *base_headers(request, service.settings)))


def _issue_code(key: str, service: DatabricksService) -> str:
    expires = int(service.clock.now()) + service.settings.token_lifetime_s
    return issue(Grant("databricks-cli", "all-apis", "", expires), fingerprint(key))


def _parse_form(request: Request) -> Mapping[str, str]:
    """Parse a form, or the same as JSON; anything else is an empty one."""
    try:
        text = request.body.decode()
        if text.lstrip().startswith("{"):
            body = request.json()
            return {k: v for k, v in body.items() if isinstance(v, str)} if isinstance(body, dict) else {}
        return dict(parse_qsl(text, keep_blank_values=True))
    except (ValueError, RecursionError):
        return {}


def _find_proof(grant: str, form: Mapping[str, str]) -> str:
    names = {_EXCHANGE: "subject_token", _ASSERTION: "assertion", "authorization_code": "code"}
    return form.get(names.get(grant, "refresh_token"), "")


def _split_proof(secret: str) -> tuple[str, str]:
    """Split the suffix off an issued token; tokens issued for it get the same suffix."""
    token, tilde, name = secret.rpartition("~")
    return (token, tilde + name) if parse_grant(token) is not None else (secret, "")


def _parse_scopes(form: Mapping[str, str], before: Grant | None) -> str:
    """Return the requested scopes; by default those of the exchanged token."""
    scopes = form.get("scope") or (before.scopes if before is not None else "all-apis")
    unknown = next((scope for scope in scopes.split() if scope != "all-apis" and scope not in _SCOPES), None)
    if unknown is not None:
        raise _error_oauth("invalid_scope", f"Scope {unknown!r} is not supported", 400)
    return scopes


def _parse_path(form: Mapping[str, str]) -> str:
    """Return the object that a token is requested for. Source: databricks-sdk, ``data_plane.py``."""
    try:
        details = parse_json(form.get("authorization_details", ""))
    except ValueError:
        return ""
    first = details[0] if isinstance(details, list) and details else None
    return str(first.get("object_path", "")) if isinstance(first, dict) else ""


def _error_oauth(error: str, description: str, status: int) -> EmulatedError:
    return EmulatedError(ErrorKind.INVALID_REQUEST, description, status=status, details={"oauth": error})


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogateescape")).decode().rstrip("=")


def _decode(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "surrogateescape")
    except ValueError:
        return ""
