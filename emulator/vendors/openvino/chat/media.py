"""Validate images and sounds in a message; routes for image edits and tensors use parts of it.

Source: model_server, src/llm/apis/openai_completions.cpp (2025.0 to 2026.1), openai_api_handler.cpp (2026.2) and
src/llm/io_processing/image_utils.cpp and input_processors/audio_decoding_processor.cpp (2026.3).
"""

import base64
import binascii
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from emulator.core.json import Object, as_text
from emulator.vendors.openvino.chat.checks import find_checks
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.audio_files import measure_sound
from emulator.vendors.openvino.request import Fields

_STRUCTURE = "Invalid message structure"
_MAGIC = (b"\x89PNG", b"\xff\xd8", b"BM", b"GIF8", b"8BPS", b"#?RADIANCE", b"P5", b"P6")  # formats of stb_image
_OPENCV = (*_MAGIC, b"RIFF", b"II*\x00", b"MM\x00*")
_ADDRESS = re.compile(r"(http|https|ftp|sftp|)://[^\n\r\u2028\u2029]*")  # the scheme may be empty


def validate_picture(fields: Fields, part: Object) -> str:
    """Validate an ``image_url`` part and return its URL; the image itself may be validated later."""
    image = part.get("image_url")
    if not isinstance(image, dict):
        raise refusal(f"{_STRUCTURE} - content image_url missing")
    url = image.get("url")
    if not isinstance(url, str):
        raise refusal(f"{_STRUCTURE} - image_url does not have url field")
    if find_checks(fields.release.version).pictures != "deferred":
        load_picture(fields, url)
    return url


def load_picture(fields: Fields, url: str) -> None:
    """Validate an image: the signature of embedded bytes, the location of any other; nothing is fetched."""
    checks = find_checks(fields.release.version)
    _, found, encoded = url.partition("base64,")
    if not found:
        if checks.pictures == "base64":
            raise refusal('Url should contain base64 encoded string followed by "base64," prefix')
        _validate_location(fields, url, domains=checks.domains)
        return
    picture = decode_base64(encoded)
    if picture is None:
        raise refusal("Invalid base64 string in request")
    if not fields.release.since(2025, 1):
        if not picture:
            raise refusal("Error during string to mat conversion")
        if not picture.startswith(_OPENCV):
            raise refusal(checks.failure)  # which of its texts: unverified
    elif not picture.startswith(_MAGIC):
        raise refusal(checks.failure)


def is_picture(data: bytes) -> bool:
    """Return whether the server decodes the format."""
    return data.startswith(_MAGIC)


def decode_base64(encoded: str) -> bytes | None:
    """Decode base64 as absl does: padding is optional and white space ignored; ``None`` if it is invalid."""
    text = re.sub(r"[ \t\n\v\f\r]", "", encoded)
    bare = text.rstrip("=.")
    if len(text) - len(bare) not in (0, -len(bare) % 4) or len(bare) % 4 == 1:
        return None
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _validate_location(fields: Fields, url: str, *, domains: bool) -> None:
    """Raise unless the host or folder of an image is allowed."""
    settings = fields.parsed.settings
    if _ADDRESS.fullmatch(url):
        if domains and not _is_allowed(url, settings.allowed_media_domains):
            raise refusal("Given url does not match any allowed domain from allowed_media_domains")
        return
    folder = settings.allowed_local_media_path
    if folder is None:
        raise refusal("Loading images from local filesystem is disabled.")
    if url.startswith("../") or url.endswith("/..") or "/../" in url:
        raise refusal(f"Path {url} escape with .. is forbidden.")
    if not _is_inside(url, folder, strictly=fields.release.since(2026, 2)):
        raise refusal("Given filepath is not subpath of allowed_local_media_path")


def _is_allowed(url: str, domains: tuple[str, ...]) -> bool:
    if domains == ("all",):
        return True
    try:
        return urlsplit(url).hostname in domains
    except ValueError:
        return False


def _is_inside(url: str, folder: str, *, strictly: bool) -> bool:
    """Return whether ``url`` is in ``folder``; without ``strictly``, compare prefixes, as before 2026.2."""
    return PurePosixPath(url).is_relative_to(PurePosixPath(folder)) if strictly else url.startswith(folder)


def validate_sound(part: Object) -> Object:
    """Validate an ``input_audio`` part and return its content."""
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        raise refusal(f"{_STRUCTURE} - input_audio object missing")
    if not isinstance(audio.get("data"), str):
        raise refusal(f"{_STRUCTURE} - input_audio does not have a valid data field")
    return audio


def load_sound(audio: Object) -> None:
    """Validate the sound for models that take one; without a format it is WAV."""
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
