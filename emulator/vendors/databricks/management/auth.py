"""Personal access tokens, and OAuth as far as clients need it to get one.

An issued token is a function of who asks for it: any replica knows it again, and nothing is stored.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode

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
OBJECTS = "/serving-endpoints/"  # what the name of an endpoint as an object begins with; its id follows
_TOKENS = "/oidc/v1/token"  # all that a refresh token opens
_REFRESHED_S = 30 * 86_400  # how long one is good (unverified)
# Scopes beside ``all-apis``, and where the paths begin that each opens. Those of other parts of a workspace open none.
_SERVING = ("/serving-endpoints", "/api/2.0/serving-endpoints", "/ai-gateway")
_WHO = ("/api/2.0/preview/scim",)
_SCOPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model-serving": _SERVING, "serving.serving-endpoints": _SERVING, "iam": _WHO, "openid": _WHO,
        "profile": _WHO, "email": _WHO, "offline_access": (), "sql": (), "clusters": (), "jobs": (), "workspace": (),
    }
)  # fmt: skip


def authenticate(request: Request, service: DatabricksService) -> str:
    """The principal of a bearer token, or of a token sent as Basic password of the user ``token``.

    Raises:
        EmulatedError: 401 without a credential, 403 with one that opens nothing.
    """
    token = bearer_token(request) or _read_password(request)
    if not token:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, NO_CREDENTIAL)
    grant = read_grant(token)
    principal = _find_owner(token, grant, service)
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, BAD_TOKEN, status=403)
    if grant is not None and not _covers(grant, request.path):
        text = "Provided OAuth token does not have required scopes"  # wording unverified
        raise EmulatedError(ErrorKind.FORBIDDEN, text)
    return principal


def principal_of(token: str, service: DatabricksService) -> str | None:
    """Whose a token is: a configured one's, or one issued for such a one that has not expired."""
    return _find_owner(token, read_grant(token), service)


def _read_password(request: Request) -> str:
    """The token of one who sends it as a password; empty: there is none."""
    user, password = basic_credentials(request) or ("", "")
    return password if user == "token" else ""


def _find_owner(token: str, grant: Grant | None, service: DatabricksService) -> str | None:
    """As :func:`principal_of`, of a token that says this of itself."""
    if grant is not None and service.clock.now() >= grant.expires:
        return None
    principal = service.principal(token)
    if principal is not None or service.keys is None or grant is None:
        return principal
    key = _find_key(token, grant, service)
    return None if key is None else service.keys[key]


def _find_key(token: str, grant: Grant, service: DatabricksService) -> str | None:
    """The configured token for which one was issued."""
    return next((key for key in service.keys or () if token == issue(grant, fingerprint(key))), None)


@fast_dataclass(frozen=True, slots=True)
class Grant:
    """What an issued token says of itself.

    Fields:
        scopes: between spaces, as they were asked for.
        path: of the one thing that it opens; empty: none in particular.
        expires: Unix seconds.
    """

    client: str
    scopes: str
    path: str
    expires: int


def issue(grant: Grant, secret: str) -> str:
    """An access token: a token's look, without a signature anyone could check; ``secret``: a fingerprint of one."""
    claims = dump_text([grant.scopes, grant.path, grant.expires])
    seal = draw_alphanumeric(b"", 40, "oauth", grant.client, claims, secret)
    return f"{_encode(grant.client)}.{_encode(claims)}.{seal}"


def read_grant(token: str) -> Grant | None:
    """What an issued token says; ``None`` if it is of another kind."""
    if token.count(".") != 2:
        return None
    client, said, _ = token.split(".")
    try:
        claims = parse_json(_decode(said))
    except ValueError:
        return None
    if not isinstance(claims, list) or [type(claim) for claim in claims] != [str, str, int]:
        return None
    return Grant(_decode(client), as_text(claims[0]), as_text(claims[1]), as_integer(claims[2]))


def check_direct(request: Request, endpoint_id: str) -> None:
    """Route-optimized addresses take OAuth tokens only, and one that was asked for an endpoint opens that one alone.

    Source: docs.databricks.com, "Query route-optimized serving endpoints"; both texts are unverified.

    Raises:
        EmulatedError: 401 for another kind of token, 403 for one of another endpoint.
    """
    grant = read_grant(bearer_token(request) or "")
    if grant is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, "Route-optimized endpoints accept OAuth tokens only.")
    if grant.path and grant.path != f"{OBJECTS}{endpoint_id}":
        raise EmulatedError(ErrorKind.FORBIDDEN, f"Provided OAuth token is not for '{OBJECTS}{endpoint_id}'")


def show_tenant(request: Request, service: DatabricksService) -> Response:
    """``GET /aad/auth``, ``/oidc/oauth2/v2.0/authorize``: where clients on Azure read the name of the tenant."""
    tenant = draw_uuid(b"", "tenant", service.settings.workspace_id)
    path = "oauth2/authorize" if request.path == "/aad/auth" else "oauth2/v2.0/authorize"
    location = f"https://login.microsoftonline.com/{tenant}/{path}"
    return Response(302, b"", (("Location", location), *base_headers(request, service.settings)))


def _covers(grant: Grant, path: str) -> bool:
    """Whether a token is good for a path; one for a single object opens nothing but its address."""
    if grant.path == _TOKENS:
        return False
    if grant.path:
        return path.count("/serving-endpoints/") == 1 and not path.startswith(("/serving-endpoints", "/api/"))
    scopes = grant.scopes.split()
    if "all-apis" in scopes:
        return True
    return any(path.startswith(prefix) for scope in scopes for prefix in _SCOPES[scope])


def serve_token(request: Request, service: DatabricksService) -> Response:
    """``POST /oidc/v1/token``: client credentials, exchanges and refreshes alike.

    Source: databricks-sdk, ``oauth.py`` and ``credentials_provider.py``.
    """
    form = _read_form(request)
    grant = form.get("grant_type", "")
    if grant not in ("client_credentials", "authorization_code", "refresh_token", _EXCHANGE, _ASSERTION):
        raise _oauth_refusal("unsupported_grant_type", f"Grant type {grant!r} is not supported", 400)
    client, secret = basic_credentials(request) or (form.get("client_id", ""), form.get("client_secret", ""))
    if grant != "client_credentials":
        client, secret = client or "databricks-cli", _read_proof(grant, form)
    secret, suffix = _split_proof(secret) if not request.key_suffix else (secret, request.key_suffix)
    if principal_of(secret, service) is None:
        if grant != "client_credentials":
            raise _oauth_refusal("invalid_grant", "The grant is invalid or expired", 400)
        raise _oauth_refusal("invalid_client", "Client authentication failed", 401)
    before = read_grant(secret)
    scopes, lifetime = _read_scopes(form, before), service.settings.token_lifetime_s
    now, proof = int(service.clock.now()), _trace_secret(secret, before, service)
    token = issue(Grant(client, scopes, _read_path(form), now + lifetime), proof) + suffix
    answer: Object = {"access_token": token, "scope": scopes, "token_type": "Bearer"}
    if grant in ("authorization_code", "refresh_token"):
        answer["refresh_token"] = issue(Grant(client, scopes, _TOKENS, now + _REFRESHED_S), proof) + suffix
    return answer_json({**answer, "expires_in": lifetime}, request, service.settings)


def _trace_secret(secret: str, grant: Grant | None, service: DatabricksService) -> str:
    """What a token is sealed with that is issued for this secret: the same however often one was exchanged."""
    if service.keys is None:
        return secret
    key = None if grant is None else _find_key(secret, grant, service)
    return fingerprint(secret if key is None else key)


def serve_authorize(request: Request, service: DatabricksService) -> Response:
    """``GET /oidc/v1/authorize``: consent is given at once; the code stands for the first configured token."""
    target = request.query.get("redirect_uri", "")
    if not target or "\r" in target or "\n" in target:
        raise _oauth_refusal("invalid_request", "redirect_uri is required", 400)
    code = _issue_code(next(iter(service.keys)), service) if service.keys else draw_hex(request.key, "code")
    answer = {"code": code, **({"state": request.query["state"]} if "state" in request.query else {})}
    location = f"{target}{'&' if '?' in target else '?'}{urlencode(answer)}"
    return Response(302, b"", (("Location", location), *base_headers(request, service.settings)))


def _issue_code(key: str, service: DatabricksService) -> str:
    expires = int(service.clock.now()) + service.settings.token_lifetime_s
    return issue(Grant("databricks-cli", "all-apis", "", expires), fingerprint(key))


def _read_form(request: Request) -> Mapping[str, str]:
    """A form, or the same as JSON; anything else is an empty one."""
    try:
        text = request.body.decode()
        if text.lstrip().startswith("{"):
            body = request.json()
            return {k: v for k, v in body.items() if isinstance(v, str)} if isinstance(body, dict) else {}
        return dict(parse_qsl(text, keep_blank_values=True))
    except (ValueError, RecursionError):
        return {}


def _read_proof(grant: str, form: Mapping[str, str]) -> str:
    names = {_EXCHANGE: "subject_token", _ASSERTION: "assertion", "authorization_code": "code"}
    return form.get(names.get(grant, "refresh_token"), "")


def _split_proof(secret: str) -> tuple[str, str]:
    """A token that was issued with a suffix, and that suffix: what is issued for it has the same."""
    token, tilde, name = secret.rpartition("~")
    return (token, tilde + name) if read_grant(token) is not None else (secret, "")


def _read_scopes(form: Mapping[str, str], before: Grant | None) -> str:
    """What is asked for; else what the token had that is exchanged."""
    scopes = form.get("scope") or (before.scopes if before is not None else "all-apis")
    unknown = next((scope for scope in scopes.split() if scope != "all-apis" and scope not in _SCOPES), None)
    if unknown is not None:
        raise _oauth_refusal("invalid_scope", f"Scope {unknown!r} is not supported", 400)
    return scopes


def _read_path(form: Mapping[str, str]) -> str:
    """The one object that a token is asked for. Source: databricks-sdk, ``data_plane.py``."""
    try:
        details = parse_json(form.get("authorization_details", ""))
    except ValueError:
        return ""
    first = details[0] if isinstance(details, list) and details else None
    return str(first.get("object_path", "")) if isinstance(first, dict) else ""


def _oauth_refusal(error: str, description: str, status: int) -> EmulatedError:
    return EmulatedError(ErrorKind.INVALID_REQUEST, description, status=status, details={"oauth": error})


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogateescape")).decode().rstrip("=")


def _decode(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "surrogateescape")
    except ValueError:
        return ""
