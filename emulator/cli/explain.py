"""``emulator explain``: print which rule matches a request, why earlier rules do not, and the random draws."""

import asyncio
import re
import sys
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from multidict import CIMultiDict
from pydantic import BaseModel, ConfigDict, ValidationError

from emulator.cli.choices import VENDOR_NAMES
from emulator.cli.encoding import parse_json_text
from emulator.cli.files import require_readable
from emulator.core.http import Request
from emulator.core.json import JSON, dump_json
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.journal.entry import describe
from emulator.runtime.services import adding_vendor_mistakes
from emulator.scenario.code_frame import format_rows
from emulator.scenario.errors import suggest_name
from emulator.scenario.header_overrides import HeaderOverrideError
from emulator.scenario.load import load_paths
from emulator.scenario.matching import RuleResult
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.serve.application import create_application
from emulator.settings import Settings, SettingsError
from emulator.vendors import VENDORS

_CREDENTIALS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_PLACE = re.compile(r"^https?://[^/?#]*")
_EXAMPLE = '{"vendor": "tgi", "path": "/v1/chat/completions", "body": {"model": "tgi", "messages": []}}'


class ExplainRequest(BaseModel):
    """Request file; a text body is sent as it is, any other as JSON.

    A body without content type is JSON, and headers without credential get the first key of the scenario, as clients
    send both by themselves.
    """

    model_config = ConfigDict(extra="forbid")

    vendor: str
    method: str | None = None
    path: str
    headers: dict[str, str] = {}
    body: JSON = None

    def to_wire(self, key: str) -> Request:
        """Convert to a request on the vendor's own port; ``key`` is its credential if its headers have none."""
        path, _, written = _PLACE.sub("", self.path).partition("#")[0].partition("?")
        headers = CIMultiDict(self.headers)
        if self.body is not None:
            headers.setdefault("Content-Type", "application/json")
        if not any(name in headers for name in _CREDENTIALS):
            headers.update({"Authorization": f"Bearer {key}", "api-key": key})
        body = b"" if self.body is None else self.body.encode() if isinstance(self.body, str) else dump_json(self.body)
        query: dict[str, str] = {}
        for name, value in parse_qsl(written, keep_blank_values=True):
            query.setdefault(name, value)
        return Request(
            method=self.method or ("POST" if body else "GET"),
            path=unquote(path),
            query=query,
            headers=headers,
            body=body,
            base_url="http://127.0.0.1",
            session=headers.get("x-emulator-session", ""),
        )


def explain(path: str, request_path: str, settings: Settings, *, as_json: bool) -> int:
    """Print the result of each rule for a first request; return 1 if the scenario has mistakes."""
    require_readable([Path(path)])
    request = _read_request(request_path)
    try:
        with adding_vendor_mistakes(VENDORS):
            loaded, _ = load_paths([Path(path)], settings.scenario)
        results, refusal, reason = asyncio.run(_try_out(loaded, request, settings.seed))
    except ScenarioError as error:
        print(format_rows(error.rows), file=sys.stderr)
        return 1
    except HeaderOverrideError as error:
        raise SettingsError(f"{request_path}: {error}") from None
    if as_json:
        print(dump_json(_as_json(results, refusal, reason)).decode())
    else:
        print("\n".join(map(escape, _as_text(results, refusal, reason))))
    return 0


def _read_request(source: str) -> ExplainRequest:
    try:
        text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return ExplainRequest.model_validate(parse_json_text(text))
    except OSError as error:
        raise SettingsError(f"cannot read {source}: {explain_file(error, source)}") from None
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
        at = ".".join(map(str, mistake["loc"]))
        found = f"{at}: {mistake['msg'].lower()}" if at else "expected an object"
        raise SettingsError(f"{source}: {found}; a request looks like {_EXAMPLE}") from None
    except ValueError as error:
        raise SettingsError(f"{source} is not JSON: {error}") from None


async def _try_out(
    loaded: ParsedScenario, request: ExplainRequest, seed: int | None
) -> tuple[tuple[RuleResult, ...], str | None, str]:
    application = create_application(loaded, seed=seed)
    app = application.runtime.active.apps.get(request.vendor)
    if app is None:
        reason = "is not served by this scenario" if request.vendor in VENDOR_NAMES else "is not a vendor"
        raise SettingsError(f"{request.vendor!r} {reason}{suggest_name(request.vendor, VENDOR_NAMES)}")
    return await app.try_out(request.to_wire(choose_key(loaded.scenario)))


def choose_key(scenario: Scenario) -> str:
    """Return the credential of a request that names none: the first key of the scenario, if it has keys."""
    return scenario.keys[0].token if scenario.keys else "any"


def _find_match(results: tuple[RuleResult, ...]) -> str | None:
    return results[-1].rule if results and results[-1].failed is None else None


def _as_text(results: tuple[RuleResult, ...], refusal: str | None, reason: str) -> list[str]:
    lines = [describe(result) for result in results]
    if _find_match(results) is None:
        lines.append("No rule matched." if results or refusal is None else "No rules apply.")
    if refusal is not None:
        lines.append(f"It is refused: {refusal}{reason and f'; {reason}'}.")
    return lines


def _as_json(results: tuple[RuleResult, ...], refusal: str | None, reason: str) -> JSON:
    rows = [
        {
            "rule": result.rule,
            "takes": result.failed is None,
            "failed": result.failed,
            "detail": result.detail,
            "draw": result.draw,
        }
        for result in results
    ]
    return {"rule": _find_match(results), "error": refusal, "why": reason or None, "explanation": rows}
