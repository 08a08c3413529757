"""Set the encoding of what commands print, and decode the JSON files that they read.

Other programs get UTF-8; a terminal gets escapes for characters that its encoding lacks.
"""

import codecs
import os
import sys
from io import TextIOWrapper

from emulator.core.json import JSON, parse_json

_ESCAPED = "emulator.escaped"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def prepare_output() -> None:
    """Set how stdout encodes text, unless it is UTF-8.

    A file or pipe gets UTF-8 with LF, as its readers expect of JSON; ``PYTHONIOENCODING`` wins. A character that an
    encoding lacks, as cp437 of a console does, is printed as ``\\uXXXX``, which keeps JSON valid.
    """
    out = sys.stdout
    if not isinstance(out, TextIOWrapper) or codecs.lookup(out.encoding).name == "utf-8":
        return
    if out.isatty() or os.environ.get("PYTHONIOENCODING"):
        codecs.register_error(_ESCAPED, _escape)
        out.reconfigure(errors=_ESCAPED)
    else:
        out.reconfigure(encoding="utf-8", errors="strict", newline="\n")


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)), error.end


def parse_json_text(data: bytes) -> JSON:
    """Parse JSON of a file; a byte order mark, which Windows PowerShell writes, is read over, and UTF-16 decoded.

    Raises:
        ValueError: not JSON.
    """
    if data.startswith(_UTF16):
        return parse_json(data.decode("utf-16").encode())
    return parse_json(data.removeprefix(codecs.BOM_UTF8))
