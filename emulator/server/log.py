"""Lines for people and machines on standard error: one per request, cheap enough for load."""

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

from emulator.control.explain import describe_nearest
from emulator.control.journal import Entry

_FLUSH_AFTER = 0.1  # seconds a line may wait, so that one write serves many requests


def configure_logging(level: str, form: str, stream: TextIO = sys.stderr) -> bool:
    """Set up the ``emulator`` logger; true if lines are JSON (``auto``: text on a terminal)."""
    as_json = form == "json" or (form == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if as_json else logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("emulator")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
    return as_json


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        row = {"time": _stamp(record.created), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(row, ensure_ascii=False)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AccessLog:
    """Collects one line per journal entry and writes them in batches."""

    def __init__(self, *, as_json: bool, stream: TextIO = sys.stderr) -> None:
        self._form: Callable[[Entry, str], str] = _as_json if as_json else _as_text
        self._stream = stream
        self._lines: list[Entry] = []

    def __call__(self, entry: Entry) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_later(_FLUSH_AFTER, self.flush)
        self._lines.append(entry)

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            explained: set[tuple[str | None, ...]] = set()
            self._stream.write("".join(self._form(entry, _find_nearest(entry, explained)) + "\n" for entry in lines))
            self._stream.flush()


def _find_nearest(entry: Entry, explained: set[tuple[str | None, ...]]) -> str:
    """Which rule came closest to a call no rule took; once for all alike, as it is dear."""
    alike = (entry.vendor, entry.deployment, entry.path)
    if entry.rule is not None or entry.deployment is None or entry.evidence is None or alike in explained:
        return ""
    explained.add(alike)
    return describe_nearest(entry.explain(), loggable=True)


def _as_text(entry: Entry, nearest: str) -> str:
    parts = [
        _stamp(entry.time),
        entry.vendor,
        entry.method,
        entry.path,
        str(entry.status),
        entry.deployment or "-",
        f"{entry.prompt_tokens}+{entry.completion_tokens} tokens",
        *(() if entry.ttft is None else (f"ttft {entry.ttft * 1000:.1f} ms",)),
        f"{entry.duration * 1000:.1f} ms",
    ]
    if entry.rule:
        parts.append(f"rule {entry.rule!r}")
    if entry.faults:
        parts.append(f"faults {', '.join(entry.faults)}")
    if entry.error:
        parts.append(entry.error)
    if nearest:
        parts.append(f"no rule matched. {nearest}")
    return "  ".join(parts)


def _as_json(entry: Entry, nearest: str) -> str:
    row = {
        "time": _stamp(entry.time),
        "method": entry.method,
        "path": entry.path,
        "status": entry.status,
        "vendor": entry.vendor,
        "deployment": entry.deployment,
        "rule": entry.rule,
        "faults": entry.faults,
        "error": entry.error,
        "prompt_tokens": entry.prompt_tokens,
        "completion_tokens": entry.completion_tokens,
        "ttft": None if entry.ttft is None else round(entry.ttft, 6),
        "duration": round(entry.duration, 6),
        "request_id": entry.id,
    }
    if nearest:
        row["nearest_rule"] = nearest
    return json.dumps(row, ensure_ascii=False)
