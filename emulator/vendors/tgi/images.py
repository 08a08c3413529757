"""Find and validate images in a prompt, written as Markdown, for vision models.

Source: text-generation-inference, ``router/src/validation.rs`` (fetch_image, prepare_input) and ``router/src/lib.rs``
(TextMessage). Other models read the Markdown as text. URLs are never fetched and count as valid images; of an
embedded image only the signature is validated.
"""

import base64
import re
from collections.abc import Mapping

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.vendors.tgi.errors import refusal

_PICTURE = re.compile(r"!\[\]\([^)]*\)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_SIGNATURES: Mapping[str, tuple[str, tuple[bytes, ...]]] = {
    "image/png": ("Png", (b"\x89PNG\r\n\x1a\n",)),
    "image/jpeg": ("Jpeg", (b"\xff\xd8\xff",)),
    "image/jpg": ("Jpeg", (b"\xff\xd8\xff",)),
    "image/gif": ("Gif", (b"GIF87a", b"GIF89a")),
    "image/webp": ("WebP", (b"RIFF",)),
    "image/tiff": ("Tiff", (b"II*\0", b"MM\0*")),
}


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
    """Decode standard base64 with padding; error texts are those of the base64 crate."""
    valid = _BASE64.match(text)
    end = valid.end() if valid else 0
    padding = text[end:]
    if padding.strip("="):
        offset = end + len(padding) - len(padding.lstrip("="))
        raise _refusal(f"base64 encoding is invalid: Invalid symbol {ord(text[offset])}, offset {offset}.")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise _refusal("base64 encoding is invalid: Invalid padding") from None


def _validate_signature(kind: str, data: bytes) -> None:
    """Raise if the signature is not the format's; the image crate's texts beyond its name are unverified."""
    known = _SIGNATURES.get(kind)
    if known is not None:
        name, signatures = known
        if not data.startswith(signatures):
            raise _refusal(f"invalid image: Format error decoding {name}: Invalid {name.upper()} signature.")
    elif not any(data.startswith(signatures) for _, signatures in _SIGNATURES.values()):
        raise _refusal("invalid image: The image format could not be determined")


def _refusal(text: str) -> EmulatedError:
    return refusal(text, "inputs")
