"""Parse ``inputs`` (a text, or a list of texts, images, videos and sounds) of the TGI-style and native routes.

The chat route validates media here, too.

Source: MindIE documentation, "text/stream inference" (kinds and sizes), and MindIE-LLM, ``utils/infer_param.cpp`` and
``mindie_llm/tokenizer/tokenizer.py`` (order and texts). Media are validated by form alone: no file is opened and no URL
is fetched; base64 content is measured.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.vendors.mindie.decoder import count_formatted, count_units, format_value, refusal

MAX_MEDIA = 20
MAX_TOTAL = 1000  # megabytes of all media together
MAX_URL = 4096
_SLICE = 1 << 20  # characters of base64 decoded at once; a multiple of four
TOO_LONG = (  # follows the route's name of the field
    " must be necessary and data type must be string and length in (0, {most}], but the length of inputs is {length}"
)
_KEYS = ("image_url", "video_url", "audio_url")
_EXTENSIONS: Mapping[str, Sequence[str]] = {
    "image_url": (".jpg", ".jpeg", ".png"),
    "video_url": (".mp4", ".avi", ".wmv"),
    "audio_url": (".mp3", ".wav", ".flac"),
}
_SOUND = "input_audio"
_BAD_SOUND = (
    "'input_audio.data' should be base64 encoded data, "
    "and the 'input_audio.format' should be in ['mp3', 'wav', 'flac']."
)
_MEGABYTES: Mapping[str, int] = {"image_url": 20, "video_url": 512, "audio_url": 20}
_DATA_URL = re.compile(
    r"data:(?:image|video|audio)/(?:jpeg|png|mp4|x-msvideo|x-ms-wmv|mpeg|x-wav|flac);base64,([A-Za-z0-9+/=]+)"
)
_PATH = re.compile(r"[\w\-./]+", re.ASCII)


@fast_dataclass(frozen=True, slots=True)
class Inputs:
    """Parsed ``inputs``.

    Fields:
        echo: the text that the TGI-style routes repeat; of a list, its compact JSON.
        prompt: the text the model reads.
        first_text: text of the first text element.
        media: number of images, videos and sounds.
    """

    echo: str
    prompt: str
    first_text: str
    media: int = 0


def parse_inputs(value: JSON, limit: int, too_long: str, field: str = "inputs") -> Inputs:
    """Parse ``inputs`` or its equivalent on another route; the value is neither absent nor null.

    Args:
        limit: UTF-16 code units.
        too_long: error template for empty and overlong inputs, with ``{most}`` and ``{length}``.
    """
    texts = _list_texts(value, field)
    length = _measure_excess(value, limit)
    if length is not None:
        raise refusal(too_long.format(most=limit, length=length), field)
    inputs = _read(value, texts)
    if isinstance(value, list):
        fetch_media(value)
        if lacks_text(value):  # the server catches the tokenizer's exception and keeps no tokens
            return replace(inputs, prompt="", first_text="", media=0)
    return inputs


def lacks_text(elements: Sequence[JSON]) -> bool:
    """Return whether an element of type ``text`` lacks its text."""
    return any(isinstance(part, dict) and part.get("type") == "text" and "text" not in part for part in elements)


def _list_texts(value: JSON, field: str) -> Sequence[str]:
    """Return the texts of ``inputs`` in order; raise if their type or an element is invalid."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise refusal(f"The type of {field} is abnormal", field)
    if not value:
        raise refusal(f"{field.capitalize()} arr is empty", field)
    validate_elements(value)
    parts = [part for part in value if isinstance(part, dict)]
    texts = [part["text"] for part in parts if part.get("type") == "text" and "text" in part]
    if "" in texts:  # documented as not empty; the wording is unverified
        raise refusal("Request param text must not be empty", "text")
    return texts


def _read(value: JSON, texts: Sequence[str]) -> Inputs:
    if not isinstance(value, list):
        return Inputs(texts[0], texts[0], texts[0])
    media = sum(has_media(part) for part in value if isinstance(part, dict))
    return Inputs(format_value(value), "\n".join(texts), texts[0] if texts else "", media)


def validate_elements(elements: Sequence[JSON]) -> None:
    """Raise if a text is not a string, a medium is null, or there are more than twenty media."""
    media = 0
    for part in elements:
        if not isinstance(part, dict):
            continue
        if "text" in part and not isinstance(part["text"], str):
            raise refusal("Request param text must be string", "text")
        if not has_media(part):
            continue
        for key in ("image_url", "audio_url", "video_url"):
            if key in part and part[key] is None:
                raise refusal(f"Request param {key} null", key)
        media += 1
        if media > MAX_MEDIA:
            raise refusal(f"The number of multimodal url should be no more than {MAX_MEDIA}")


def _measure_excess(value: JSON, limit: int) -> int | None:
    """Return the length of inputs in UTF-16 code units if it is not 1 to ``limit``, else ``None``.

    Base64 media have a bound of their own and do not count.
    """
    length = count_units(value) if isinstance(value, str) else count_formatted(value)
    if 0 < length <= limit:
        return None
    if isinstance(value, list) and length - sum(map(count_encoded, value)) <= limit:
        return None
    return length


def count_encoded(part: JSON) -> int:
    """Return the characters of media embedded in an element."""
    values = [part.get(key) for key in _KEYS] if isinstance(part, dict) else []
    texts = [value.get("url") if isinstance(value, dict) else value for value in values]
    return sum(len(text) for text in texts if isinstance(text, str) and len(text) > MAX_URL)


def fetch_media(elements: Sequence[JSON], *, sounds: bool = False) -> None:
    """Raise if a medium has a form that the server fails to fetch.

    Args:
        sounds: accept ``input_audio``, which the documentation of ``inputs`` omits.
    """
    total = 0
    for part in elements:
        if not isinstance(part, dict):
            kind = f"<class '{type(part).__name__}'>"
            raise _download_refusal(f"The input type of '{kind}' is invalid, it should be a List[Dict].")
        total += _fetch_element(part, sounds=sounds)
        if total > MAX_TOTAL * 1024**2:
            raise _download_refusal(f"The total media input cannot exceed {MAX_TOTAL}.0 MB.")


def _fetch_element(part: Mapping[str, JSON], *, sounds: bool) -> int:
    """Return the decoded size of media embedded in one element, in bytes."""
    if "type" not in part:
        raise _download_refusal("'type'", "KeyError")
    kind = part["type"]
    if kind == "text":
        return 0
    if sounds and kind == _SOUND:
        return _fetch_sound(part)
    if not isinstance(kind, str) or kind not in _EXTENSIONS:
        name = kind if isinstance(kind, str) else format_value(kind)
        raise _download_refusal(f"Input type {name} does not match the mm type.")
    return _fetch(kind, part)


def _fetch_sound(part: Mapping[str, JSON]) -> int:
    """Return the decoded size of a base64 sound in bytes."""
    if _SOUND not in part:
        raise _download_refusal(f"'{_SOUND}'", "KeyError")
    sound = part[_SOUND]
    if isinstance(sound, str):
        return 0
    if not isinstance(sound, dict):
        raise _download_refusal(f"Input of {_SOUND} should be str or dict.")
    data, form = sound.get("data"), sound.get("format", "")
    if not isinstance(data, str) or not data or f".{form}".lower() not in _EXTENSIONS["audio_url"]:
        raise _download_refusal(_BAD_SOUND)
    return _count_decoded(data, 0, len(data))


def _fetch(kind: str, part: Mapping[str, JSON]) -> int:
    """Return the decoded size of an embedded medium in bytes; 0 for a URL or path."""
    if kind not in part:
        raise _download_refusal(f"'{kind}'", "KeyError")
    medium = part[kind]
    value = medium.get("url") if isinstance(medium, dict) else medium
    if not isinstance(value, str):
        raise _download_refusal(f"Input of {kind} should be str or dict.")
    if value.startswith(("http://", "https://")):
        _validate_url(kind, value)
        return 0
    path = value.removeprefix("file://")
    if _extension(path) in _EXTENSIONS[kind]:
        if not _PATH.fullmatch(path):
            raise _download_refusal("The media url contains dangerous characters, only allow a-zA-Z0-9_-.")
        return 0
    return _measure(kind, value)


def _validate_url(kind: str, url: str) -> None:
    if len(url) > MAX_URL:
        raise _download_refusal(f"The length of media_url should be less than {MAX_URL}, but got {len(url)}.")
    try:
        path = urlsplit(url).path
    except ValueError:
        raise _download_refusal(f"Invalid URL: {url}") from None
    if _extension(path) not in _EXTENSIONS[kind]:
        allowed = ", ".join(repr(extension) for extension in _EXTENSIONS[kind])
        raise _download_refusal(f"The media type is {kind}, url must end with one of [{allowed}].")


def _measure(kind: str, value: str) -> int:
    """Return the decoded size of base64 in a data URL or, for images, without one; in bytes."""
    start, end = 0, len(value)
    if value.startswith("data:"):
        match = _DATA_URL.search(value)
        if match is None:
            raise _download_refusal("Expected format: data:<mime_type>/<subtype>;base64,<base64_data>")
        start, end = match.span(1)
    elif kind != "image_url":
        raise _download_refusal(f"Input type {kind} does not match the mm type.")
    size = _count_decoded(value, start, end)
    if not size:
        raise _download_refusal("Invalid image content, check the input image", "RuntimeError")
    if size > _MEGABYTES[kind] * 1024**2:
        raise _download_refusal(f"The size of {kind} cannot exceed {_MEGABYTES[kind]}.0 MB")
    return size


def _count_decoded(text: str, start: int, end: int) -> int:
    """Return the decoded size of base64 in ``text[start:end]``, decoded in slices; the padding is in the last."""
    size, padded = 0, text.find("=", start, end)
    full = end if padded < 0 else padded
    try:
        while start + 2 * _SLICE <= full:
            size += len(base64.b64decode(text[start : start + _SLICE], validate=True))
            start += _SLICE
        size += len(base64.b64decode(text[start:end], validate=True))
    except (binascii.Error, ValueError):
        raise _download_refusal("Invalid base64 url") from None
    return size


def _download_refusal(text: str, exception: str = "ValueError") -> EmulatedError:
    """Return an error of the tokenizer process, cut at the first line."""
    line = text.partition("\n")[0]
    return refusal(f"[InferTokenizer::DownloadUrl] Download fail: {exception}: {line}", "inputs")


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""


def has_media(part: Mapping[str, JSON]) -> bool:
    """Return whether an element has an image, a video or a sound."""
    return any(key in part for key in _KEYS)
