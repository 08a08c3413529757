"""Parse requests to custom (pyfunc) models, which contain data frames, and render predictions.

Sources: databricks-sdk ``serving_endpoints.query``; mlflow's scoring protocol for the shapes of input.
"""

from collections.abc import Iterable

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, canonical_json, dump_json, dump_text, parse_json
from emulator.core.plan import Plan
from emulator.core.requests import CompletionRequest
from emulator.core.rng import derive_key, draw_uniform
from emulator.core.vendor import WholeCodec
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.request import ParsedRequest
from emulator.vendors.databricks.settings import DatabricksSettings

_INPUTS = ("instances", "dataframe_records", "dataframe_split", "inputs")
_BAD_INPUT = (
    "Encountered an unexpected error while evaluating the model."
    " Verify that the input is compatible with the model for inference."
)


@fast_dataclass(frozen=True, slots=True, eq=False)
class PredictionsCodec(WholeCodec):
    """Codec of predictions; a scenario's text replaces all of them if it is JSON, else it is the only one."""

    settings: DatabricksSettings
    served: str

    def render(self, plan: Plan, request: Request) -> Response:
        text = plan.choices[0].text()
        try:
            predictions = parse_json(text)
        except ValueError:
            predictions = [text]
        body: Object = {"predictions": predictions}
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))


def parse_predictions(parsed: ParsedRequest) -> InferenceCall:
    """Parse a request; the prediction of a row is a number derived from the row's content.

    Raises:
        EmulatedError: not exactly one kind of input, or input without rows.
    """
    given = [name for name in _INPUTS if name in parsed.body]
    if len(given) != 1:
        names = ", ".join(f"'{name}'" for name in parsed.body)
        expected = ", ".join(f"'{name}'" for name in _INPUTS)
        text = (
            "Invalid input. The input must be a JSON dictionary with exactly one of the input fields"
            f" {{{expected}}}. Received dictionary with input fields: [{names}]."
        )  # wording unverified
        raise error_parameter(text)
    rows = parsed.body[given[0]]
    predictions = [_predict(parsed.deployment.name, row) for row in _parse_rows(given[0], rows)]
    return InferenceCall(
        deployment=parsed.deployment,
        request=CompletionRequest(prompts=(dump_text(rows),), known=dump_text(predictions)),
        codec=PredictionsCodec(parsed.settings, parsed.served),
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def _parse_rows(name: str, value: JSON) -> Iterable[JSON]:
    if name == "dataframe_split":
        value = _parse_frame(value)
    if name == "inputs" and isinstance(value, dict):  # columns by name
        columns = list(value.values())
        if not columns or not all(isinstance(column, list) for column in columns):
            raise error_parameter(_BAD_INPUT)
        return zip(*columns, strict=False)
    if not isinstance(value, list):
        raise error_parameter(_BAD_INPUT)
    return value


def _parse_frame(value: JSON) -> JSON:
    """Return the rows of a data frame in parts.

    Source: mlflow ``utils/proto_json_utils.py`` (``dataframe_from_parsed_json``) and pandas' errors within it.

    Raises:
        EmulatedError: not such a frame.
    """
    if not isinstance(value, dict):
        kind = "list" if isinstance(value, list) else f"type {type(value)}"
        raise error_parameter(f"Dataframe split format must be a dictionary. Got {kind}.")
    if "data" not in value or not value.keys() <= {"columns", "data", "index"}:
        names = ", ".join(f"'{name}'" for name in value)
        raise error_parameter(
            "Dataframe split format must have 'data' field and optionally 'columns' and 'index' fields."
            f" Got {f'{{{names}}}' if names else 'set()'}.'"
        )
    problem = _find_problem(value.get("columns"), value["data"])
    if problem:
        raise error_parameter(
            "Provided dataframe_split field is not a valid dataframe representation in 'split' format."
            f" Error: '{problem}'"
        )
    rows: JSON = value["data"]
    return rows


def _find_problem(columns: JSON, rows: JSON) -> str:
    """Return pandas' error of names that are no collection or do not fit the rows; empty if there is none."""
    if columns is None:
        return ""
    if not isinstance(columns, list | dict):
        return f"Index(...) must be called with a collection of some kind, {columns!r} was passed"
    widths = [len(row) if isinstance(row, list) else 0 for row in rows] if isinstance(rows, list) else []
    if not widths or 0 in widths or len(columns) == max(widths):
        return ""
    return f"{len(columns)} columns passed, passed data had {max(widths)} columns"


def _predict(name: str, row: JSON) -> float:
    try:
        text = canonical_json(row)
    except (ValueError, RecursionError):
        raise error_parameter(_BAD_INPUT) from None
    return round(draw_uniform(derive_key("prediction", name, text)), 6)
