"""``inputs``: a text, or a list of texts, pictures, films and sounds.

Source: MindIE documentation, "text/stream inference" (kinds and sizes), and MindIE-LLM,
``utils/infer_param.cpp`` and ``mindie_llm/tokenizer/tokenizer.py`` (order and words). Media are judged by
their form alone: no file is opened and nothing is downloaded; what is sent along in base64 is measured.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import urlsplit

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.vendors.mindie.decoder import count_shown, count_units, refusal, show

MAX_MEDIA = 20
MAX_TOTAL = 1000  # megabytes of all media together
MAX_URL = 4096
_SLICE = 1 << 20  # characters of base64 that are decoded at once; a multiple of four
TOO_LONG = (  # goes after what a route calls them
    " must be necessary and data type must be string and length in (0, {most}], but the length of inputs is {length}"
)
_KEYS = ("image_url", "video_url", "audio_url")
_EXTENSIONS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "image_url": (".jpg", ".jpeg", ".png"),
        "video_url": (".mp4", ".avi", ".wmv"),
        "audio_url": (".mp3", ".wav", ".flac"),
    }
)
_SOUND = "input_audio"
_BAD_SOUND = (
    "'input_audio.data' should be base64 encoded data, "
    "and the 'input_audio.format' should be in ['mp3', 'wav', 'flac']."
)
_MEGABYTES = MappingProxyType({"image_url": 20, "video_url": 512, "audio_url": 20})
_DATA_URL = re.compile(
    r"data:(?:image|video|audio)/(?:jpeg|png|mp4|x-msvideo|x-ms-wmv|mpeg|x-wav|flac);base64,([A-Za-z0-9+/=]+)"
)
_PATH = re.compile(r"[\w\-./]+", re.ASCII)


@fast_dataclass(frozen=True, slots=True)
class Inputs:
    """What was sent.

    Fields:
        echo: the text as the TGI-style routes repeat it: of a list its compact JSON.
        prompt: what the model reads.
        first_text: of the first element that has one.
        media: pictures, films and sounds.
    """

    echo: str
    prompt: str
    first_text: str
    media: int = 0


def read_inputs(value: JSON, most: int, too_long: str, name: str = "inputs") -> Inputs:
    """``inputs``, or what another route calls them, that are neither absent nor null.

    Args:
        most: characters, in UTF-16 code units.
        too_long: what empty inputs and longer ones get, ``{most}`` and ``{length}`` filled in.
    """
    texts = _list_texts(value, name)
    length = _measure_excess(value, most)
    if length is not None:
        raise refusal(too_long.format(most=most, length=length), name)
    inputs = _read(value, texts)
    if isinstance(value, list):
        fetch_media(value)
        if lacks_text(value):  # what the tokenizer throws is caught, and no tokens are left
            return replace(inputs, prompt="", first_text="", media=0)
    return inputs


def lacks_text(elements: Sequence[JSON]) -> bool:
    """An element of type ``text`` has none."""
    return any(isinstance(part, dict) and part.get("type") == "text" and "text" not in part for part in elements)


def _list_texts(value: JSON, name: str) -> Sequence[str]:
    """What inputs that may be say, in their order."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise refusal(f"The type of {name} is abnormal", name)
    if not value:
        raise refusal(f"{name.capitalize()} arr is empty", name)
    check_elements(value)
    parts = [part for part in value if isinstance(part, dict)]
    texts = [part["text"] for part in parts if part.get("type") == "text" and "text" in part]
    if "" in texts:  # documented as not empty; the wording is unverified
        raise refusal("Request param text must not be empty", "text")
    return texts


def _read(value: JSON, texts: Sequence[str]) -> Inputs:
    if not isinstance(value, list):
        return Inputs(texts[0], texts[0], texts[0])
    media = sum(has_media(part) for part in value if isinstance(part, dict))
    return Inputs(show(value), "\n".join(texts), texts[0] if texts else "", media)


def check_elements(elements: Sequence[JSON]) -> None:
    """Texts are strings, media are not null, and there are at most twenty of them."""
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


def _measure_excess(value: JSON, most: int) -> int | None:
    """Characters of inputs that are not 1 to ``most``, in UTF-16 code units; ``None`` if they are.

    A medium that comes along in base64 has a bound of its own and takes no room here.
    """
    length = count_units(value) if isinstance(value, str) else count_shown(value)
    if 0 < length <= most:
        return None
    if isinstance(value, list) and length - sum(map(count_encoded, value)) <= most:
        return None
    return length


def count_encoded(part: JSON) -> int:
    """Characters of media that stand in an element itself."""
    values = [part.get(key) for key in _KEYS] if isinstance(part, dict) else []
    texts = [value.get("url") if isinstance(value, dict) else value for value in values]
    return sum(len(text) for text in texts if isinstance(text, str) and len(text) > MAX_URL)


def fetch_media(elements: Sequence[JSON], *, sounds: bool = False) -> None:
    """Refuse media of a form the server would fail to fetch.

    Args:
        sounds: ``input_audio``, which the documentation of ``inputs`` does not know, is a medium, too.
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
    """Bytes of one element that came along."""
    if "type" not in part:
        raise _download_refusal("'type'", "KeyError")
    kind = part["type"]
    if kind == "text":
        return 0
    if sounds and kind == _SOUND:
        return _fetch_sound(part)
    if not isinstance(kind, str) or kind not in _EXTENSIONS:
        shown = kind if isinstance(kind, str) else show(kind)
        raise _download_refusal(f"Input type {shown} does not match the mm type.")
    return _fetch(kind, part)


def _fetch_sound(part: Mapping[str, JSON]) -> int:
    """Bytes of a sound in base64, whose format stands beside it."""
    if _SOUND not in part:
        raise _download_refusal(f"'{_SOUND}'", "KeyError")
    given = part[_SOUND]
    if isinstance(given, str):
        return 0
    if not isinstance(given, dict):
        raise _download_refusal(f"Input of {_SOUND} should be str or dict.")
    data, form = given.get("data"), given.get("format", "")
    if not isinstance(data, str) or not data or f".{form}".lower() not in _EXTENSIONS["audio_url"]:
        raise _download_refusal(_BAD_SOUND)
    return _count_decoded(data, 0, len(data))


def _fetch(kind: str, part: Mapping[str, JSON]) -> int:
    """Bytes of one medium that came along; 0 for one that is elsewhere."""
    if kind not in part:
        raise _download_refusal(f"'{kind}'", "KeyError")
    given = part[kind]
    value = given.get("url") if isinstance(given, dict) else given
    if not isinstance(value, str):
        raise _download_refusal(f"Input of {kind} should be str or dict.")
    if value.startswith(("http://", "https://")):
        _check_url(kind, value)
        return 0
    path = value.removeprefix("file://")
    if _extension(path) in _EXTENSIONS[kind]:
        if not _PATH.fullmatch(path):
            raise _download_refusal("The media url contains dangerous characters, only allow a-zA-Z0-9_-.")
        return 0
    return _measure(kind, value)


def _check_url(kind: str, url: str) -> None:
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
    """Bytes of a medium in base64, plain (pictures only) or in a data URL."""
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
    """Bytes of base64 that is part of a text, decoded piece by piece; what is padded is in the last."""
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
    """Words of the tokenizer process, cut at the first line."""
    line = text.partition("\n")[0]
    return refusal(f"[InferTokenizer::DownloadUrl] Download fail: {exception}: {line}", "inputs")


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""


def has_media(part: Mapping[str, JSON]) -> bool:
    """An element brings a picture, a film or a sound."""
    return any(key in part for key in _KEYS)
