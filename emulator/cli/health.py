"""``emulator health``: whether a running emulator is ready."""

import json
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from emulator.cli.trust import choose_trust
from emulator.core.text import escape
from emulator.settings import Settings


def find_front(settings: Settings, port: str | None) -> str:
    """Base URL of the front: by its port, where one is asked for; else by the port file, where there is to be one.

    Raises:
        ValueError: nobody has written that file, or somebody else has.
    """
    if port is None and settings.port_file is not None:
        return _read_front(settings.port_file)
    return f"{settings.scheme}://127.0.0.1:{settings.port}"


def _read_front(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["front"])
    except (OSError, ValueError, TypeError, LookupError):
        raise ValueError(f"no emulator has written {path}") from None


def check_health(url: str, settings: Settings) -> int:
    """0 and one line if ready; 1 and the reason if not."""
    try:
        context = choose_trust(url, settings)
        with urllib.request.urlopen(f"{url.rstrip('/')}/_emulator/ready", timeout=2, context=context):  # noqa: S310  # a person names the URL
            print("ready")
            return 0
    except urllib.error.HTTPError as error:
        print(f"not ready: HTTP {error.code}", file=sys.stderr)
    except (OSError, HTTPException, ValueError) as error:  # nobody listens, no emulator does, or it is no address
        print(f"not ready: {escape(str(getattr(error, 'reason', error)))}", file=sys.stderr)
    return 1
