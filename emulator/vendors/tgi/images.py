"""Find and validate images in a prompt, written as Markdown, for vision models.

Source: text-generation-inference, ``router/src/validation.rs`` (fetch_image, prepare_input) and ``router/src/lib.rs``
(TextMessage). Other models read the Markdown as text. URLs are never fetched and count as valid images; of an
embedded image only the signature is validated.
"""

import base64
import re
from collections.abc import Callable, Mapping

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.vendors.tgi.errors import refusal

_PICTURE = re.compile(r"!\[\]\([^)]*\)")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*")
_PNG, _JPEG, _RIFF, _WEBP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"RIFF", b"WEBP"
_GIF, _TIFF = (b"GIF87a", b"GIF89a"), (b"II*\0", b"MM\0*")
_STARTS = (_PNG, b"\xff\xd8\xff", *_GIF, _RIFF, *_TIFF)
_CUT = "unexpected end of file"


def has_vision(deployment: Deployment) -> bool:
    """Return whether the model accepts images: its trait ``vision``."""
    return deployment.traits.get("vision") is True


def take_pictures(text: str) -> tuple[str, int]:
    """Return a prompt without its images, and their number.

    Raises:
        EmulatedError: an image is invalid.
    """
    count = 0
    for found in _PICTURE.finditer(text):
        _validate_image(found[0])
        count += 1
    return _PICTURE.sub("", text) if count else text, count


def join_chunks(content: JSON) -> JSON:
    """Return the content of a message as one text, with images as Markdown."""
    if not isinstance(content, list | tuple):
        return content
    chunks = [chunk for chunk in content if isinstance(chunk, dict)]
    return "".join(
        [chunk["text"] if chunk.get("type") == "text" else f"![]({chunk['image_url']['url']})" for chunk in chunks]
    )


def _validate_image(markdown: str) -> None:
    inside = markdown[len("![](") : -1]
    if inside.startswith(("http://", "https://")):
        return
    if not inside.startswith("data:"):
        raise _refusal(f"invalid image content: {markdown}")
    content = inside.removeprefix("data:")
    kind, *parts = content.split(";")
    if len(parts) != 1:
        raise _refusal(f"invalid image content: {content}")
    if not parts[0].startswith("base64,"):
        raise _refusal(f"invalid image content: {parts[0]}")
    _validate_signature(kind, _decode(parts[0].removeprefix("base64,")))


def _decode(text: str) -> bytes:
    """Decode standard base64 with padding; error texts are those of base64 0.22.1, ``src/decode.rs``."""
    data = text.encode()
    valid = _BASE64.match(data)
    end = valid.end() if valid else 0
    padding = data[end:]
    if padding.strip(b"="):
        offset = end + len(padding) - len(padding.lstrip(b"="))
        offset = end if offset > end and data[offset : offset + 1].isalnum() else offset
        raise _refusal(f"base64 encoding is invalid: Invalid symbol {data[offset]}, offset {offset}.")
    if padding and end % 4 < 2:
        raise _refusal(f"base64 encoding is invalid: Invalid symbol {data[end]}, offset {end}.")
    if end % 4 == 1:
        raise _refusal(f"base64 encoding is invalid: Invalid input length: {end}")
    if len(data) % 4:
        raise _refusal("base64 encoding is invalid: Invalid padding")
    spare = {2: 0b1111, 3: 0b11}.get(end % 4, 0)
    if spare and _ALPHABET.index(data[end - 1]) & spare:
        raise _refusal(f"base64 encoding is invalid: Invalid last symbol {data[end - 1]}, offset {end - 1}.")
    return base64.b64decode(data)


def _validate_signature(kind: str, data: bytes) -> None:
    """Raise if the signature is not the format's; the texts are those of image 0.25.5 and its decoders."""
    check = _CHECKS.get(kind)
    if check is None:
        error = "" if data.startswith(_STARTS) else "The image format could not be determined"
    else:
        error = check(data)
    if error:
        raise _refusal(f"invalid image: {error}")


def _check_png(data: bytes) -> str:
    for end in (4, len(_PNG)):  # the decoder reads four bytes at a time
        if len(data) < end:
            return _CUT
        if data[:end] != _PNG[:end]:
            return "Format error decoding Png: Invalid PNG signature."
    return ""


def _check_jpeg(data: bytes) -> str:
    if len(data) < len(_JPEG):
        return 'Format error decoding Jpeg: "No more bytes"'
    start = int.from_bytes(data[:2], "big")
    error = f"Format error decoding Jpeg: Error parsing image. Illegal start bytes:{start:X}"
    return "" if data.startswith(_JPEG) else error


def _check_gif(data: bytes) -> str:
    if len(data) < len(_GIF[0]):
        return _CUT
    return "" if data.startswith(_GIF) else "Format error decoding Gif: malformed GIF header"


def _check_webp(data: bytes) -> str:
    if len(data) < 8:
        return "failed to fill whole buffer"
    if not data.startswith(_RIFF):
        return f"Format error decoding WebP: Invalid Chunk header: {_list_hex(_RIFF)}"
    form = data[8:12]
    return "" if form in (b"", _WEBP) else f"Format error decoding WebP: Invalid WebP signature: {_list_hex(form)}"


def _check_tiff(data: bytes) -> str:
    found = data.startswith(_TIFF)
    return "" if found else "Format error decoding Tiff: Format error: TIFF signature not found."


def _list_hex(data: bytes) -> str:
    return "[" + ", ".join([f"{byte:x}" for byte in data]) + "]"


_CHECKS: Mapping[str, Callable[[bytes], str]] = {
    "image/png": _check_png,
    "image/jpeg": _check_jpeg,
    "image/jpg": _check_jpeg,
    "image/gif": _check_gif,
    "image/webp": _check_webp,
    "image/tiff": _check_tiff,
}


def _refusal(text: str) -> EmulatedError:
    return refusal(text, "inputs")
