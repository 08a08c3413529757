"""Pictures and sounds in a message.

Source: model_server, src/llm/apis/openai_completions.cpp (2025.0) and src/image_utils.cpp (since 2025.4).
"""

from __future__ import annotations

import base64
import binascii
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from emulator.core.errors import EmulatedError
from emulator.core.json import Object
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields

_STRUCTURE = "Invalid message structure"
_MAGIC = (b"\x89PNG", b"\xff\xd8", b"BM", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"8BPS")


def check_picture(read: Fields, part: Object) -> None:
    """An ``image_url`` part; the picture's own bytes are looked at no further than their kind.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    image = part.get("image_url")
    if not isinstance(image, dict):
        raise refusal(f"{_STRUCTURE} - content image_url missing")
    url = image.get("url")
    if not isinstance(url, str):
        raise refusal(f"{_STRUCTURE} - image_url does not have url field")
    _, found, encoded = url.partition("base64,")
    if not found:
        if not read.release.since(2025, 3):
            raise refusal('Url should contain base64 encoded string followed by "base64," prefix')
        _check_location(read, url)
        return
    picture = _decode(encoded)
    if not picture:
        raise _picture_refusal(read, "Error during string to mat conversion")
    if not picture.startswith(_MAGIC):
        raise _picture_refusal(read, "Image size invalid")  # which of its texts: unverified


def _picture_refusal(read: Fields, before: str) -> EmulatedError:
    """One text since 2025.1, one of several before."""
    return refusal("Image parsing failed" if read.release.since(2025, 1) else before)


def _decode(encoded: str) -> bytes:
    """Base64 with or without padding, standard or web-safe alphabet, as absl's reader takes it."""
    text = encoded.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise refusal("Invalid base64 string in request") from None


def _check_location(read: Fields, url: str) -> None:
    """A picture elsewhere: the host or folder has to be allowed. It is never fetched."""
    settings = read.accepted.settings
    if url.startswith(("http://", "https://")):
        try:
            host = urlsplit(url).hostname
        except ValueError:
            host = None
        if not {host, "all"} & set(settings.allowed_media_domains):
            raise refusal("Given url does not match any allowed domain from allowed_media_domains")
        return
    folder = settings.allowed_local_media_path
    if folder is None:
        raise refusal("Loading images from local filesystem is disabled.")
    path = PurePosixPath(url.removeprefix("file://"))
    if ".." in path.parts or not path.is_relative_to(folder):
        raise refusal("Given filepath is not subpath of allowed_local_media_path")


def check_audio(part: Object) -> None:
    """An ``input_audio`` part."""
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        raise refusal(f"{_STRUCTURE} - input_audio object missing")
    if not isinstance(audio.get("data"), str):
        raise refusal(f"{_STRUCTURE} - input_audio does not have a valid data field")
