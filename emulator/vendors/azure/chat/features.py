"""Validate a chat request against the container's rules and the model's features."""

from emulator.vendors.azure.chat.messages import check_media, check_roles, find_incomplete
from emulator.vendors.azure.chat.models import ChatBody, ResponseFormat
from emulator.vendors.azure.chat.tools import check_tools, find_wrong_choice
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import DeploymentProfile
from emulator.vendors.azure.sampling import check_penalties, find_beyond_range
from emulator.vendors.azure.settings import AzureSettings


def check_rules(wire: ChatBody, settings: AzureSettings) -> None:
    """Raise for violations of the container's rules beyond types, as the settings' switches select them.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``.
    """
    errors = find_incomplete(wire.messages, settings)
    if settings.strict_range:
        errors += find_beyond_range(wire)
    if settings.strict_tool_choice:
        errors += find_wrong_choice(wire)
    if errors:
        raise refusals.breaks_schema(errors)


def check_features(wire: ChatBody, habits: DeploymentProfile) -> None:
    """Raise for a feature of the API that the model lacks.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``, code ``parameter_not_supported``.
    """
    check_roles(wire.messages, habits)
    check_media(wire.messages, habits)
    if wire.response_format is not None:
        _validate_format(wire.response_format, habits)
    if wire.tools is not None or wire.tool_choice is not None:
        check_tools(wire, habits)
    check_penalties(wire, habits)
    if wire.modalities and "audio" in wire.modalities and not habits.traits.get("speaks"):
        raise refusals.not_supported(("modalities",), wire.modalities)


def _validate_format(wanted: ResponseFormat, habits: DeploymentProfile) -> None:
    feature = "json" if wanted.type == "json_object" else wanted.type
    if not habits.supports(feature):
        raise refusals.not_supported(("response_format",), wanted.type)
