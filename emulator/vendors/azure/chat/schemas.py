"""The JSON Schemas of a chat with Azure OpenAI: those of its tools and of a structured answer."""

from collections.abc import Mapping

from emulator.core.json import JSON
from emulator.dialects.strict import find_problem
from emulator.vendors.azure.chat.custom import StrictFunction
from emulator.vendors.azure.chat.fields import ChatRequest
from emulator.vendors.azure.errors import refusals


def check_schemas(wire: ChatRequest) -> None:
    """Refuse a schema that the service cannot follow.

    Raises:
        EmulatedError: 400.
    """
    for position, tool in enumerate(wire.tools or ()):
        function = tool.function
        if isinstance(function, StrictFunction):
            where = f"tools[{position}].function.parameters"
            check_parameters(function.name, function.parameters, where, strict=function.strict is True)
    wanted = wire.response_format
    if wanted is not None and wanted.json_schema is not None and wanted.json_schema.strict:
        form = wanted.json_schema
        check_structure(form.name, form.schema_, "response_format")


def check_parameters(name: str, parameters: Mapping[str, JSON] | None, where: str, *, strict: bool) -> None:
    """Of a function."""
    problem = find_problem(parameters, strict=strict) if parameters else None
    if problem is not None:
        text = f"Invalid schema for function '{name}': {problem}"
        raise refusals.contradicts(text, where, "invalid_function_parameters")


def check_structure(name: str, schema: Mapping[str, JSON], where: str, code: str | None = None) -> None:
    """Of a structured answer that has to fit its schema strictly."""
    problem = find_problem(schema, strict=True)
    if problem is not None:
        raise refusals.contradicts(f"Invalid schema for response_format '{name}': {problem}", where, code)
