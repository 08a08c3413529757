"""Validate a chat against the features of its model, and against the rules of Azure's model containers.

A container is the FastAPI server that Azure runs around a model (``decoder.py``).
"""

from emulator.vendors.azure.chat.messages import find_incomplete, validate_media, validate_roles
from emulator.vendors.azure.chat.models import ChatBody, ResponseFormat
from emulator.vendors.azure.chat.tools import find_wrong_choice, validate_tools
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile
from emulator.vendors.azure.sampling import find_beyond_range, validate_penalties
from emulator.vendors.azure.settings import AzureSettings


def validate_rules(wire: ChatBody, settings: AzureSettings) -> None:
    """Raise for violations of the container's rules beyond types, as the settings' switches select them."""
    errors = find_incomplete(wire.messages, settings)
    if settings.strict_range:
        errors += find_beyond_range(wire)
    if settings.strict_tool_choice:
        errors += find_wrong_choice(wire)
    if errors:
        raise refusals.breaks_schema(errors)


def validate_features(wire: ChatBody, profile: DeploymentProfile) -> None:
    """Raise for a feature of the API that the model lacks."""
    validate_roles(wire.messages, profile)
    validate_media(wire.messages, profile)
    if wire.response_format is not None:
        _validate_format(wire.response_format, profile)
    if wire.tools is not None or wire.tool_choice is not None:
        validate_tools(wire, profile)
    validate_penalties(wire, profile)
    if wire.modalities and "audio" in wire.modalities and not profile.traits.get("speaks"):
        raise refusals.not_supported(("modalities",), wire.modalities)


def _validate_format(wanted: ResponseFormat, profile: DeploymentProfile) -> None:
    feature = "json" if wanted.type == "json_object" else wanted.type
    if not profile.supports(feature):
        raise refusals.not_supported(("response_format",), wanted.type)
