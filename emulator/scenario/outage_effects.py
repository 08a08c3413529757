"""Effects of outages that no rule can express: quotas come back slowly, deployments are retired.

``handler/planning.py`` reads the missing share of quotas and the headers that announce a retirement;
``runtime/services.py`` removes a retired deployment from its vendor.
"""

from collections.abc import Sequence
from email.utils import formatdate
from urllib.parse import quote

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers
from emulator.scenario.matchers import Test, compile_names
from emulator.scenario.outages import Outage


def _compile(outage: Outage) -> tuple[Test, Test, Test]:
    vendor, deployment, principal = (
        compile_names(names or ("*",)) for names in (outage.vendor, outage.deployments, outage.principal)
    )
    return vendor, deployment, principal


class SlowRecoveries:
    """Outages after which quotas come back slowly; ``started``: Unix seconds."""

    def __init__(self, outages: Sequence[Outage], started: float) -> None:
        self._outages = [
            (one.name, one.for_, _compile(one), one.list_windows(started)) for one in outages if one.for_ is not None
        ]

    def __bool__(self) -> bool:
        return bool(self._outages)

    def find(self, vendor: str, deployment: str, principal: str, now: float) -> tuple[str, float, float] | None:
        """Return the outage of which most is missing, that share, and the seconds until all is back.

        ``None``: all is back. ``now``: seconds since the start.
        """
        found = [
            (name, (end + lasts - now) / lasts, end + lasts - now)
            for name, lasts, (is_vendor, is_deployment, is_principal), windows in self._outages
            if is_vendor(vendor) and is_deployment(deployment) and is_principal(principal)
            for _, end in windows
            if end <= now < end + lasts
        ]
        return max(found, key=lambda row: row[1], default=None)


@fast_dataclass(frozen=True, slots=True)
class _Retirement:
    """Retirement of deployments; times in seconds since the start."""

    warned: float
    gone: float
    is_vendor: Test
    is_deployment: Test


class Retirements:
    """Deployments that are retired: headers warn before they are gone; ``started``: Unix seconds."""

    def __init__(self, outages: Sequence[Outage], started: float) -> None:
        self._rows = [
            _Retirement(*window, *_compile(one)[:2])
            for one in outages
            if one.kind == "retirement"
            for window in one.list_windows(started)
        ]

    def __bool__(self) -> bool:
        return bool(self._rows)

    def find_end(self, vendor: str, deployment: str) -> float | None:
        """Return when a deployment is gone, in seconds since the start; ``None``: never."""
        return min((row.gone for row in self._find(vendor, deployment)), default=None)

    def list_warnings(self, vendor: str, deployment: str, now: float, started: float) -> Headers:
        """Return the headers that announce the end of a deployment; ``started``: Unix seconds.

        Source: RFC 9745 (``Deprecation``), RFC 8594 (``Sunset``), RFC 7234, section 5.5 (``Warning``). No vendor's page
        names such a header: unverified.
        """
        rows = [row for row in self._find(vendor, deployment) if row.warned <= now < row.gone]
        if not rows:
            return ()
        row = min(rows, key=lambda row: row.gone)
        date = formatdate(started + row.gone, usegmt=True)
        return (
            ("Deprecation", f"@{int(started + row.warned)}"),
            ("Sunset", date),
            ("Warning", f'299 - "{quote(deployment)} is retired on {date}"'),
        )

    def _find(self, vendor: str, deployment: str) -> Sequence[_Retirement]:
        return [row for row in self._rows if row.is_vendor(vendor) and row.is_deployment(deployment)]
