"""Fill in the variables of a prompt template that a Responses request names by id (``prompt``).

The scenario declares the templates, under ``prompts`` of the vendor. The texts of refusals are unverified.

Source: openai-python, ``types/responses/response_prompt_param.py``.
"""

import re
from collections.abc import Mapping

from emulator.core.json import JSON, Object, as_object, as_text, dump_text
from emulator.vendors.azure.errors import refusals

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def fill_prompt(given: Object, declared: Mapping[str, str]) -> str:
    """Return the instructions of a prompt, with its variables filled in.

    Raises:
        EmulatedError: 404, no such prompt or version; 400, a variable has no value.
    """
    name, version = as_text(given["id"]), given.get("version")
    found = [
        text
        for key, text in declared.items()
        if key.partition("@")[0] == name and version in (None, key.partition("@")[2] or "1")
    ]
    if not found:
        what = f"Prompt with id '{name}'" + ("" if version is None else f" and version '{version}'")
        raise refusals.not_found(f"{what} not found.")
    values = as_object(given.get("variables") or {})
    text = found[-1]  # the latest version is the last
    missing = next((each for each in _VARIABLE.findall(text) if values.get(each) is None), None)
    if missing is not None:
        raise refusals.missing_parameter(f"prompt.variables.{missing}")
    return _VARIABLE.sub(lambda match: _format(values, match[1]), text)


def _format(values: Mapping[str, JSON], name: str) -> str:
    value = values[name]
    if isinstance(value, dict):
        return as_text(value.get("text", "")) if value.get("type") == "input_text" else ""
    return value if isinstance(value, str) else dump_text(value)
