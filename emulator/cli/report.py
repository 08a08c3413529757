"""``emulator report``: what a running emulator was asked, as one page that opens without it."""

import sys
from pathlib import Path

from emulator.cli.trust import trust_all
from emulator.client import EmulatorClient, EmulatorError
from emulator.core.escape import escape
from emulator.server.process.complain import explain_file
from emulator.settings import SettingsError


def write_report(url: str, file: Path, session: str) -> int:
    """Write the page; 1 and the reason if nobody answers.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        with EmulatorClient(url, tls=trust_all(url)) as client:
            page = client.session(session).report() if session else client.report()
    except (EmulatorError, OSError, ValueError) as error:
        print(f"no report: {escape(str(error))}", file=sys.stderr)
        return 1
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--out: cannot write {file}: {explain_file(error)}") from None
    print(file)
    return 0
