"""Load the console, the page ``/_emulator`` on which people see the calls of an emulator, and its security headers.

``control/api.py`` serves it; ``control/report_page.py`` embeds data in it.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_PART = re.compile(rb"/\*([a-z]+\.js)\*/")
_META = '<meta charset="utf-8">\n'


@cache
def read_page() -> bytes:
    """Return the page as it is served."""
    folder = files(__name__)
    page = folder.joinpath("console.html").read_bytes()
    whole = _PART.sub(lambda found: folder.joinpath(found[1].decode()).read_bytes(), page)
    return whole.replace(b"\r\n", b"\n")  # of a checkout on Windows; browsers hash scripts with LF


@cache
def page_headers() -> dict[str, str]:
    return {
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"{_word_policy('self')}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


@cache
def read_alone() -> str:
    """Return the page for use as a file, with its policy in a ``<meta>`` element and no connections allowed."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_word_policy("none")}">\n'
    return read_page().decode().replace(_META, _META + policy, 1)


def _word_policy(asked: str) -> str:
    """Format a policy that allows only the page's own script, and connections only to ``asked``.

    Data of clients on the page cannot run scripts or load resources.
    """
    (script,) = _SCRIPT.findall(read_page())
    digest = b64encode(sha256(script).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src '{asked}'; base-uri 'none'; form-action 'none'"
    )
