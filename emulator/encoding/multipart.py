"""Parse multipart forms: text fields and files, such as images to edit and sounds to transcribe.

Sources: RFC 7578; model_server reads a form with its HTTP library's parser, which is as lenient.
"""

import re
from collections.abc import Iterator, Sequence

from emulator.core.dataclass import fast_dataclass

NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""Number in a text field; matched in linear time."""
_BOUNDARY = re.compile(r'boundary="?([^";,]+)"?')
_NAME = re.compile(r'\bname="([^"]*)"')
_FILE = re.compile(r'\bfilename="([^"]*)"')
_TYPE = re.compile(r"^content-type:[ \t]*([^\s;]+)", re.IGNORECASE | re.MULTILINE)


@fast_dataclass(frozen=True, slots=True)
class FormField:
    """One part of a form.

    Fields:
        filename: ``None`` if the part is not a file.
        content_type: empty if the part has none.
    """

    name: str
    content: bytes
    filename: str | None
    content_type: str = ""


@fast_dataclass(frozen=True, slots=True)
class Form:
    """Parts of a form in order."""

    fields: Sequence[FormField]

    def text(self, name: str) -> str:
        """Return the text of the last field of that name; empty if there is none."""
        return next(reversed(self.texts(name)), "")

    def texts(self, name: str) -> list[str]:
        return [f.content.decode("utf-8", "replace") for f in self.fields if f.name == name and f.filename is None]

    def file(self, name: str) -> bytes:
        return next((f.content for f in self.fields if f.name == name and f.filename is not None), b"")

    def names(self) -> Iterator[str]:
        """Yield the names of the text fields."""
        return (f.name for f in self.fields if f.filename is None)


def parse_form(content_type: str, body: bytes) -> Form:
    """Parse a body as a form.

    Raises:
        ValueError: the content type has no boundary, or the body does not begin with it.
    """
    found = _BOUNDARY.search(content_type)
    start = b"--" + found[1].strip().encode("latin-1", "replace") if found else b""
    if not found or not body.lstrip(b"\r\n").startswith(start):
        raise ValueError("the body does not begin with the boundary of its content type")
    parts = (b"\r\n" + body).split(b"\r\n" + start)[1:]
    return Form(tuple([field for part in parts if (field := _parse_part(part)) is not None]))


def _parse_part(part: bytes) -> FormField | None:
    """Parse a part after its boundary; ``None`` at the end of the form."""
    head, found, content = part.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", "replace")
    name = _NAME.search(re.sub(r'\bfilename="[^"]*"', "", lines))
    if not found or part.startswith(b"--") or name is None:
        return None
    filename, kind = _FILE.search(lines), _TYPE.search(lines)
    return FormField(name[1], content, filename[1] if filename else None, kind[1].lower() if kind else "")
