"""Read multipart forms of requests that upload files, transcribe sounds or edit images."""

import re

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.encoding.multipart import Form, parse_form

_NAME = re.compile(r"([^\[\]]+)(?:\[(\w*)\])?")


def read_form(request: Request) -> Form:
    """Return the form of a request.

    Raises:
        EmulatedError: 415 for another content type, 400 for a body that is no form.
    """
    kind = request.headers.get("Content-Type", "")
    if not kind.lower().startswith("multipart/form-data"):
        text = "Invalid Content-Type: expected 'multipart/form-data'."
        raise EmulatedError(ErrorKind.INVALID_REQUEST, text, status=415)
    try:
        return parse_form(kind, request.body)
    except ValueError:
        raise EmulatedError(ErrorKind.INVALID_REQUEST, "Could not parse multipart form") from None


def read_members(form: Form) -> Object:
    """Return the text fields as members of a body: ``name[]`` and repeated names as lists, ``name[key]`` as objects."""
    members: dict[str, JSON] = {}
    for field in form.fields:
        found = _NAME.fullmatch(field.name)
        if field.filename is not None:
            continue
        text = field.content.decode("utf-8", "replace")
        name, key = (found[1], found[2]) if found else (field.name, None)
        before = members.get(name)
        if isinstance(before, list):
            before.append(text)
        elif isinstance(before, dict):
            before[key or ""] = text
        elif key:
            members[name] = {key: text}
        else:
            members[name] = text if key is None and before is None else [*([] if before is None else [before]), text]
    return members
