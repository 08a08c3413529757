"""Validate audio requests in the words of the OpenAI API, or of a model's own server (trait ``container``).

The server of Whisper and the first speech models quotes pydantic's list of violations.

Source: openai/openai-node issue 1284 (``voice`` of ``tts-1``); that Azure quotes it alike is unverified.
"""

from collections.abc import Sequence

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.vendors.azure.decoder import M, validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile


def validate_fields(model: type[M], body: JSON, profile: DeploymentProfile) -> M:
    """Return a body as ``model``.

    Raises:
        EmulatedError: 400, in the words of the deployment's server.
    """
    for name in body if isinstance(body, dict) else ():
        if name not in model.model_fields:
            raise refusals.unknown_parameter(name)
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
