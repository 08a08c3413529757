"""Validate audio requests in the words of the OpenAI API, or of a model's own server (trait ``container``).

The server of Whisper and the first speech models quotes pydantic's list of violations.

Sources: openai/openai-node issue 1284 (``voice`` of ``tts-1``) and other issue threads there (``audio_too_short``, the
longest sound); learn.microsoft.com, "Whisper quickstart" (25 MB); streamlit-mic-recorder issue 10 and openai-java
issue 10 (texts of Whisper); that Azure quotes violations alike, and other texts, are unverified.
"""

from collections.abc import Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.encoding.audio_duration import measure_any
from emulator.encoding.multipart import Form
from emulator.vendors.azure.decoder import M, validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.refusals import validate_names
from emulator.vendors.azure.profile import DeploymentProfile

_FORMATS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
_MAX_BYTES = 25 * 2**20
_MIN_SECONDS, _MAX_SECONDS = 0.1, 1500


def validate_fields(model: type[M], body: JSON, profile: DeploymentProfile) -> M:
    """Return a body as ``model``.

    Raises:
        EmulatedError: 400, in the words of the deployment's server.
    """
    validate_names(body if isinstance(body, dict) else (), model.model_fields)
    try:
        return validate(model, body)
    except EmulatedError as error:
        if not profile.traits.get("container"):
            raise
        raise _quote([as_object(each) for each in as_array(error.details["errors"])]) from None


def validate_choice(name: str, value: str, choices: Sequence[str], profile: DeploymentProfile) -> None:
    """Raise if a value is none of those that the deployment has."""
    if value in choices:
        return
    named = [f"'{choice}'" for choice in choices]
    if not profile.traits.get("container"):
        listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])}, and {named[-1]}"
        raise refusals.contradicts(f"Invalid value: '{value}'. Supported values are: {listed}.", name, "invalid_value")
    expected = f"{', '.join(named[:-1])} or {named[-1]}"
    found: Object = {"type": "enum", "loc": ["body", name], "msg": f"Input should be {expected}"}
    raise _quote([{**found, "input": value, "ctx": {"expected": expected}}])


def _quote(errors: Sequence[Object]) -> EmulatedError:
    """Return the error whose message is Python's text of the violations."""
    listed = [{**each, "loc": tuple(as_array(each["loc"]))} for each in errors]
    return refusals.contradicts(str(listed), None)


def read_sound(form: Form, profile: DeploymentProfile) -> tuple[str, bytes, float]:
    """Return name, content and seconds of the file.

    Raises:
        EmulatedError: there is none, or the model cannot read it.
    """
    found = next((field for field in form.fields if field.name == "file" and field.filename is not None), None)
    if found is None or found.filename is None:
        raise refusals.missing_parameter("file")
    if len(found.content) > _MAX_BYTES:
        text = f"Maximum content size limit ({_MAX_BYTES}) exceeded ({len(found.content)} bytes read)"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, text, status=413)
    is_whisper = profile.traits.get("container") is True
    form_name = found.filename.rpartition(".")[2].lower() if "." in found.filename else ""
    if form_name not in _FORMATS:
        raise _error_name(form_name, is_whisper=is_whisper)
    try:
        seconds = measure_any(found.content)
    except ValueError:
        raise _error_content(is_whisper=is_whisper) from None
    if seconds < _MIN_SECONDS:
        text = f"Audio file is too short. Minimum audio length is {_MIN_SECONDS} seconds."
        raise refusals.contradicts(text, "file", "audio_too_short")
    if seconds > _MAX_SECONDS and not is_whisper:
        text = f"audio duration {seconds:g} seconds is longer than {_MAX_SECONDS} seconds which is the maximum for this"
        raise refusals.contradicts(f"{text} model", None, "invalid_value")
    return found.filename, found.content, seconds


def _error_name(name: str, *, is_whisper: bool) -> EmulatedError:
    if is_whisper:
        return refusals.contradicts(f"Unrecognized file format. Supported formats: {list(_FORMATS)}", None)
    return refusals.contradicts(f"Unsupported file format {name}".rstrip(), "file", "unsupported_value")


def _error_content(*, is_whisper: bool) -> EmulatedError:
    if is_whisper:
        return refusals.contradicts(f"Invalid file format. Supported formats: {list(_FORMATS)}", None)
    return refusals.contradicts("Audio file might be corrupted or unsupported", "file", "invalid_value")
