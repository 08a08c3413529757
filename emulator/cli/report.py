"""``emulator report``: write the calls of a running emulator as one standalone HTML page.

``timeline`` and ``verdict`` connect by its :func:`open_client`, and report failures by :func:`explain_failure`, too.
"""

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from warnings import catch_warnings, simplefilter

from emulator.cli.trust import choose_trust
from emulator.client import EmulatorClient, EmulatorError
from emulator.client.exposure import TokenExposedWarning, explain_exposure
from emulator.client.request import build_token_header
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.settings import Settings, SettingsError

_TRUST_HINT = "; SSL_CERT_FILE names the certificate of an authority to trust"


def write_report(url: str, file: Path, session: str, settings: Settings) -> int:
    """Write the page; return 1 if no emulator responds.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        with open_client(url, settings, session) as client:
            page = client.report()
    except (EmulatorError, OSError, ValueError) as error:
        print(f"no report: {explain_failure(error)}", file=sys.stderr)
        return 1
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--out: cannot write {file}: {explain_file(error)}") from None
    print(file)
    return 0


def explain_failure(error: Exception) -> str:
    """Return why a running emulator could not be asked."""
    hint = _TRUST_HINT if isinstance(error, ssl.SSLCertVerificationError) else ""
    return f"{escape(str(error))}{hint}"


@contextmanager
def open_client(url: str, settings: Settings, session: str = "") -> Iterator[EmulatorClient]:
    """Connect to an emulator, or to one of its sessions, which goes on; warn if others can read the token."""
    headers = build_token_header(None)
    line = explain_exposure(url) if headers else None
    if line is not None:
        print(f"emulator: warning: {line}", file=sys.stderr)
    with catch_warnings():
        simplefilter("ignore", TokenExposedWarning)
        with EmulatorClient(url, tls=choose_trust(url, settings, has_token=bool(headers))) as client:
            yield client.session(session) if session else client
