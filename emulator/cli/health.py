"""``emulator health``: ask a running emulator whether it is ready."""

import sys
import urllib.error
import urllib.request
from http.client import HTTPException

from emulator.cli.files import read_port_file
from emulator.cli.trust import choose_trust
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.settings import Settings


def find_front(settings: Settings, port: str | None) -> str:
    """Return the base URL of the front port: by ``--port``, else by the port file if one is set, else by the settings.

    Raises:
        ValueError: the port file is missing or was not written by an emulator.
    """
    if port is None and settings.port_file is not None:
        return read_port_file(settings.port_file)["front"]
    return f"{settings.scheme}://127.0.0.1:{settings.port}"


def _explain(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return explain_file(reason) if isinstance(reason, ConnectionError | FileNotFoundError) else str(reason)


def check_health(url: str, settings: Settings) -> int:
    """Print whether the emulator is ready; return 0 if it is, else 1."""
    try:
        context = choose_trust(url, settings)
        with urllib.request.urlopen(f"{url.rstrip('/')}/_emulator/ready", timeout=2, context=context):  # noqa: S310  # the URL is the user's
            print("ready")
            return 0
    except urllib.error.HTTPError as error:
        error.close()
        print(f"not ready: {url}: HTTP {error.code}", file=sys.stderr)
    except (OSError, HTTPException, ValueError) as error:  # no listener, another server, or a malformed URL
        print(f"not ready: {escape(f'{url}: {_explain(error)}')}", file=sys.stderr)
    return 1
