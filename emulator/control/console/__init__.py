"""The console: one page that loads nothing but what the control plane says."""

from functools import cache
from importlib.resources import files

PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    # Whatever a page of ours were made to say, the browser asks nobody else.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@cache
def read_page() -> bytes:
    """The page as it is served."""
    return files(__name__).joinpath("console.html").read_bytes()
