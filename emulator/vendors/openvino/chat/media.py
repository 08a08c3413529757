"""Pictures and sounds in a message.

Source: model_server, src/llm/apis/openai_completions.cpp (2025.0 to 2026.1), openai_api_handler.cpp (2026.2) and
src/llm/io_processing/image_utils.cpp and input_processors/audio_decoding_processor.cpp (2026.3).
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from emulator.core.json import Object, as_text
from emulator.vendors.openvino.chat.checks import checks_of
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.audio_files import measure_sound
from emulator.vendors.openvino.request import Fields

_STRUCTURE = "Invalid message structure"
_MAGIC = (b"\x89PNG", b"\xff\xd8", b"BM", b"GIF8", b"8BPS", b"#?RADIANCE", b"P5", b"P6")  # of what stb_image reads
_OPENCV = (*_MAGIC, b"RIFF", b"II*\x00", b"MM\x00*")
_ADDRESS = re.compile(r"(http|https|ftp|sftp|)://[^\n\r\u2028\u2029]*")  # whose first word may be missing


def check_picture(read: Fields, part: Object) -> str:
    """An ``image_url`` part, and its address; the picture itself is looked at at once, or where the model takes it.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    image = part.get("image_url")
    if not isinstance(image, dict):
        raise refusal(f"{_STRUCTURE} - content image_url missing")
    url = image.get("url")
    if not isinstance(url, str):
        raise refusal(f"{_STRUCTURE} - image_url does not have url field")
    if checks_of(read.release.version).pictures != "held":
        load_picture(read, url)
    return url


def load_picture(read: Fields, url: str) -> None:
    """A picture's own bytes are looked at no further than their kind; one elsewhere is never fetched.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    checks = checks_of(read.release.version)
    _, found, encoded = url.partition("base64,")
    if not found:
        if checks.pictures == "base64":
            raise refusal('Url should contain base64 encoded string followed by "base64," prefix')
        _check_location(read, url, domains=checks.domains)
        return
    picture = decode_base64(encoded)
    if picture is None:
        raise refusal("Invalid base64 string in request")
    if not read.release.since(2025, 1):
        if not picture:
            raise refusal("Error during string to mat conversion")
        if not picture.startswith(_OPENCV):
            raise refusal(checks.failure)  # which of its texts: unverified
    elif not picture.startswith(_MAGIC):
        raise refusal(checks.failure)


def is_picture(data: bytes) -> bool:
    """A format that the server reads."""
    return data.startswith(_MAGIC)


def decode_base64(encoded: str) -> bytes | None:
    """Base64 with or without padding, as absl's reader takes it: blanks are passed over, other letters are not."""
    text = re.sub(r"[ \t\n\v\f\r]", "", encoded)
    bare = text.rstrip("=.")
    if len(text) - len(bare) not in (0, -len(bare) % 4) or len(bare) % 4 == 1:
        return None
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _check_location(read: Fields, url: str, *, domains: bool) -> None:
    """A picture elsewhere: the host or folder has to be allowed."""
    settings = read.accepted.settings
    if _ADDRESS.fullmatch(url):
        if domains and not _is_allowed(url, settings.allowed_media_domains):
            raise refusal("Given url does not match any allowed domain from allowed_media_domains")
        return
    folder = settings.allowed_local_media_path
    if folder is None:
        raise refusal("Loading images from local filesystem is disabled.")
    if url.startswith("../") or url.endswith("/..") or "/../" in url:
        raise refusal(f"Path {url} escape with .. is forbidden.")
    if not _is_inside(url, folder, strictly=read.release.since(2026, 2)):
        raise refusal("Given filepath is not subpath of allowed_local_media_path")


def _is_allowed(url: str, domains: tuple[str, ...]) -> bool:
    if domains == ("all",):
        return True
    try:
        return urlsplit(url).hostname in domains
    except ValueError:
        return False


def _is_inside(url: str, folder: str, *, strictly: bool) -> bool:
    """Before 2026.2 only the letters of the two are compared."""
    return PurePosixPath(url).is_relative_to(PurePosixPath(folder)) if strictly else url.startswith(folder)


def check_sound(part: Object) -> Object:
    """An ``input_audio`` part, and what it has of a sound.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        raise refusal(f"{_STRUCTURE} - input_audio object missing")
    if not isinstance(audio.get("data"), str):
        raise refusal(f"{_STRUCTURE} - input_audio does not have a valid data field")
    return audio


def load_sound(audio: Object) -> None:
    """The sound itself, where the model takes one; a format that is not named is WAV.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    data, form = as_text(audio["data"]), audio.get("format")
    if not data:
        raise refusal("input_audio data field is empty")
    sound = decode_base64(data)
    if sound is None:
        raise refusal("Invalid base64 string in input_audio data")
    try:
        measure_sound(sound, form if isinstance(form, str) else "wav")
    except ValueError as error:
        raise refusal(f"Audio decoding failed: {error}") from None
