"""Routes that clients request first: discovery documents of the workspace and of OAuth, and the current user.

Sources: databricks-sdk (``config.py``, ``oauth.py``).
"""

from emulator.core.http import Request, Response
from emulator.core.json import Object
from emulator.core.rng import derive_key, draw_hex, draw_uuid
from emulator.vendors.databricks.headers import answer_json
from emulator.vendors.databricks.profile import DatabricksService

KEY = derive_key("databricks", "workspace")


def show_config(request: Request, service: DatabricksService) -> Response:
    """``GET /.well-known/databricks-config``: the first request of every client."""
    body: Object = {
        "oidc_endpoint": f"{request.base_url}/oidc",
        "account_id": draw_uuid(KEY, "account"),
        "workspace_id": service.settings.workspace_id,
        "cloud": service.settings.cloud,
    }
    return answer_json(body, request, service.settings)


def show_oidc(request: Request, service: DatabricksService) -> Response:
    """``GET /oidc/.well-known/oauth-authorization-server``."""
    base = f"{request.base_url}/oidc"
    body: Object = {"authorization_endpoint": f"{base}/v1/authorize", "token_endpoint": f"{base}/v1/token"}
    return answer_json(body, request, service.settings)


def show_me(request: Request, service: DatabricksService) -> Response:
    """``GET /api/2.0/preview/scim/v2/Me``."""
    user = user_of(request)
    body: Object = {
        "id": str(int(draw_hex(KEY, "user", request.principal, digits=13), 16)),
        "userName": user,
        "displayName": request.principal,
        "active": True,
        "emails": [{"value": user, "primary": True, "type": "work"}],
        "groups": [],
    }
    return answer_json(body, request, service.settings)


def user_of(request: Request) -> str:
    """Return the mail address of the request's principal."""
    return request.principal if "@" in request.principal else f"{request.principal}@example.com"
