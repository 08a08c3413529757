"""Render the calls of a test run, or of a running emulator, as one HTML file: the console with its data embedded.

The pytest plugin writes it with ``--emulator-report``, and ``POST /_emulator/report`` returns it.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from emulator import __version__
from emulator.control import models
from emulator.control.console import read_alone
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, dump_text, parse_json

_PLACE = "<!--saved-->"
_SHORT = list(models.RequestEntry.model_fields)
_REST = set(models.RequestDetail.model_fields) - {*_SHORT}
REQUESTS_PER_BLOCK = 200  # requests in a block of compressed details, which the page decompresses on demand


@fast_dataclass(slots=True)
class Report:
    """Data of a report page.

    Fields:
        outcome: shown above the requests.
        tests: name, outcome and session of each test.
        accounts: usage of each session, where the page has those of many.
        urls: base URL of each vendor.
        answers: responses of the control API by path; a view without its response is left out.
        calls: summary fields of each request as a JSON array of values.
        details: other fields of each request as a JSON object.
    """

    title: str
    outcome: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, JSON] = field(default_factory=dict)
    tests: list[JSON] = field(default_factory=list)
    accounts: list[models.Usage] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def dump_accounts(self) -> list[str]:
        return [models.dump_model(account) for account in self.accounts]

    def add_accounts(self, dumped: Sequence[str]) -> None:
        """Add the usage of another process."""
        self.accounts += map(models.Usage.model_validate_json, dumped)

    def add(self, call: models.RequestDetail) -> None:
        self.calls.append(dump_short(call))
        self.details.append(dump_rest(call))

    def render(self) -> str:
        """Return the page as HTML that loads no other resource."""
        calls = ",".join(map(escape, self.calls))
        return "".join([*self.open_page(), calls, DETAILS_OPENING, *self._pack_details(), close_page()])

    def open_page(self) -> Iterator[str]:
        """Yield the page up to the first request."""
        about: Object = {"version": __version__, "title": self.title, "outcome": self.outcome, "tests": self.tests}
        about |= {"fields": _SHORT, "together": REQUESTS_PER_BLOCK}
        answers = {**self.answers, **({"/usage": _add_up(self.accounts)} if self.accounts else {})}
        head = dump_text({**about, "urls": dict(self.urls), "answers": answers})
        yield from (_split()[0], _script("application/json", "saved"), escape(head[:-1]), ',"calls":[')

    def _pack_details(self) -> Iterator[str]:
        starts = range(0, len(self.details), REQUESTS_PER_BLOCK)
        yield from (pack(self.details[start : start + REQUESTS_PER_BLOCK]) for start in starts)


def _add_up(accounts: Sequence[models.Usage]) -> JSON:
    """Return the usage of all sessions together."""
    tokens = [account.output_tokens for account in accounts]
    waste = models.Waste(
        **{name: sum(getattr(one.waste, name) for one in tokens) for name in models.Waste.model_fields}
    )
    sent, delivered, wasted = (sum(getattr(one, name) for one in tokens) for name in ("sent", "delivered", "wasted"))
    calls = sum(account.calls for account in accounts)
    questions = sum(account.calls / account.amplification for account in accounts)
    total = models.Usage(
        output_tokens=models.OutputTokens(sent=sent, delivered=delivered, wasted=wasted, waste=waste),
        prompt_tokens=sum(account.prompt_tokens for account in accounts),
        cost=models.Cost(usd=round(sum(account.cost.usd for account in accounts), 9)),
        calls=calls,
        amplification=round(calls / questions, 6) if questions else 1.0,
    )
    return parse_json(models.dump_model(total))


def dump_short(call: models.RequestEntry) -> str:
    return dump_text([getattr(call, name) for name in _SHORT])


def dump_rest(call: models.RequestDetail) -> str:
    return models.dump_model(call, include=_REST)


def pack(details: Sequence[str]) -> str:
    """Compress details into one line of base64: uncompressed they would delay the first display."""
    return b64encode(zlib.compress("\n".join(details).encode())).decode() + "\n"


def _script(kind: str, name: str) -> str:
    return f'<script type="{kind}" id="{name}">'


_END = "</script>\n"
DETAILS_OPENING = f"]}}{_END}{_script('text/plain', 'details')}"


def _split() -> Sequence[str]:
    """Return the console's page before and after the embedded data."""
    return read_alone().split(_PLACE)


def close_page() -> str:
    return _END + _split()[1]


def escape(data: str) -> str:
    """Escape ``<`` in JSON, so that no browser reads it as markup."""
    return data.replace("<", "\\u003c")
