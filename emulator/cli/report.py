"""``emulator report``: what a running emulator was asked, as one page that opens without it."""

import ssl
import sys
from pathlib import Path
from warnings import catch_warnings, simplefilter

from emulator.cli.trust import choose_trust
from emulator.client import EmulatorClient, EmulatorError
from emulator.client.exposure import TokenExposedWarning, explain_exposure
from emulator.client.request import name_token
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.settings import Settings, SettingsError

_TRUST = "; SSL_CERT_FILE names the certificate of an authority to trust"


def write_report(url: str, file: Path, session: str, settings: Settings) -> int:
    """Write the page; 1 and the reason if nobody answers.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        page = _ask(url, session, settings)
    except (EmulatorError, OSError, ValueError) as error:
        hint = _TRUST if isinstance(error, ssl.SSLCertVerificationError) else ""
        print(f"no report: {escape(str(error))}{hint}", file=sys.stderr)
        return 1
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--out: cannot write {file}: {explain_file(error)}") from None
    print(file)
    return 0


def _ask(url: str, session: str, settings: Settings) -> str:
    """Return the page; a token that others can read on its way is one line more."""
    headers = name_token(None)
    line = explain_exposure(url) if headers else None
    if line is not None:
        print(f"emulator: warning: {line}", file=sys.stderr)
    with catch_warnings():
        simplefilter("ignore", TokenExposedWarning)
        with EmulatorClient(url, tls=choose_trust(url, settings, has_token=bool(headers))) as client:
            return client.session(session).report() if session else client.report()
