"""Personal access tokens, and OAuth as far as clients need it to get one.

An issued token is a function of who asks for it: any replica knows it again, and nothing is stored.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import Object
from emulator.core.seed import draw_alphanumeric, draw_hex
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.auth import basic_credentials, bearer_token
from emulator.vendors.databricks.errors import BAD_TOKEN, NO_CREDENTIAL
from emulator.vendors.databricks.habits import DatabricksService
from emulator.vendors.databricks.headers import answer_json, base_headers

_LIFETIME = 3600  # seconds
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def authenticate(request: WireRequest, service: DatabricksService) -> str:
    """The principal of a bearer token, or of a token sent as Basic password of the user ``token``.

    Raises:
        EmulatedError: 401 without a credential, 403 with one that opens nothing.
    """
    basic = basic_credentials(request)
    token = basic[1] if basic is not None and basic[0] == "token" else bearer_token(request)
    if not token:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, NO_CREDENTIAL)
    principal = principal_of(token, service)
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED, BAD_TOKEN, status=403)
    return principal


def principal_of(token: str, service: DatabricksService) -> str | None:
    """Whose a token is: a configured one's, or one issued for such a one."""
    principal = service.principal(token)
    if principal is not None or service.keys is None:
        return principal
    client, _, _ = token.partition(".")
    owners = (owner for key, owner in service.keys.items() if token == issue(_decode(client), key))
    return next(owners, None)


def issue(client: str, secret: str) -> str:
    """The access token of a client: a token's look, without a signature anyone could check."""
    return f"{_encode(client)}.{_encode('all-apis')}.{draw_alphanumeric(b'', 40, 'oauth', client, secret)}"


def serve_token(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``POST /oidc/v1/token``: client credentials, exchanges and refreshes alike.

    Source: databricks-sdk, ``oauth.py`` and ``credentials_provider.py``.
    """
    form = _read_form(request)
    grant = form.get("grant_type", "")
    if grant not in ("client_credentials", "authorization_code", "refresh_token", _EXCHANGE, _ASSERTION):
        raise _oauth_refusal("unsupported_grant_type", f"Grant type {grant!r} is not supported", 400)
    client, secret = basic_credentials(request) or (form.get("client_id", ""), form.get("client_secret", ""))
    if grant != "client_credentials":
        client, secret = client or "databricks-cli", _read_grant(grant, form)
    if service.principal(secret) is None and principal_of(secret, service) is None:
        if grant != "client_credentials":
            raise _oauth_refusal("invalid_grant", "The grant is invalid or expired", 400)
        raise _oauth_refusal("invalid_client", "Client authentication failed", 401)
    token = issue(client, secret) if service.keys is None or secret in service.keys else secret
    answer: Object = {"access_token": token, "scope": form.get("scope", "all-apis"), "token_type": "Bearer"}
    if grant in ("authorization_code", "refresh_token"):
        answer["refresh_token"] = token
    return answer_json({**answer, "expires_in": _LIFETIME}, request, service.settings)


def serve_authorize(request: WireRequest, service: DatabricksService) -> WireResponse:
    """``GET /oidc/v1/authorize``: consent is given at once; the code stands for the first configured token."""
    target = request.query.get("redirect_uri", "")
    if not target or "\r" in target or "\n" in target:
        raise _oauth_refusal("invalid_request", "redirect_uri is required", 400)
    code = next(iter(service.keys)) if service.keys else draw_hex(request.key, "code")
    answer = {"code": code, **({"state": request.query["state"]} if "state" in request.query else {})}
    location = f"{target}{'&' if '?' in target else '?'}{urlencode(answer)}"
    return WireResponse(302, b"", (("Location", location), *base_headers(request, service.settings)))


def _read_form(request: WireRequest) -> Mapping[str, str]:
    """A form, or the same as JSON; anything else is an empty one."""
    try:
        text = request.body.decode()
        if text.lstrip().startswith("{"):
            body = request.json()
            return {k: v for k, v in body.items() if isinstance(v, str)} if isinstance(body, dict) else {}
        return dict(parse_qsl(text, keep_blank_values=True))
    except (ValueError, RecursionError):
        return {}


def _read_grant(grant: str, form: Mapping[str, str]) -> str:
    names = {_EXCHANGE: "subject_token", _ASSERTION: "assertion", "authorization_code": "code"}
    return form.get(names.get(grant, "refresh_token"), "")


def _oauth_refusal(error: str, description: str, status: int) -> EmulatedError:
    return EmulatedError(ErrorKind.INVALID_REQUEST, description, status=status, details={"oauth": error})


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogateescape")).decode().rstrip("=")


def _decode(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "surrogateescape")
    except ValueError:
        return ""
