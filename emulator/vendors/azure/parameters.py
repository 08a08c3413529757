"""Parameters by model: what of a request's fields a model refuses, takes in part or leaves without effect.

Source: learn.microsoft.com, "Azure OpenAI reasoning models"; texts as openai/openai-python issue threads quote them.
"""

from collections.abc import Mapping

from emulator.core.json import Object
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.habits import Habits


def check_parameters(fields: Object, habits: Habits, places: Mapping[str, str] | None = None) -> list[str]:
    """Refuse what the model does not take.

    Args:
        fields: by the names that chat has for them.
        places: where a field stands, if not under that name: ``reasoning.effort``.

    Returns:
        Names of the fields that have no effect.

    Raises:
        EmulatedError: ``INVALID_PARAMETER``.
    """
    without_effect: list[str] = []
    for name, rule in habits.parameters.items():
        value = fields.get(name)
        if value is None or value is False or rule == "taken":
            continue
        if rule == "ignored":
            without_effect.append(name)
            continue
        place = (places or {}).get(name, name)
        if isinstance(rule, list):
            if value not in rule:
                raise refusals.unsupported_value(place.split("."), value, rule)
        elif rule == "unknown" and habits.openai and place == name:
            raise refusals.unrecognized([name])
        else:
            advice = "" if rule in ("unsupported", "unknown") else str(rule)
            raise refusals.not_supported(place.split("."), value, advice=advice)
    return without_effect
