"""A call of the journal as text that one replica writes and the others read: figures, and what is kept beside them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from multidict import CIMultiDict

from emulator.control.entry import Attempts, Entry, Evidence, Explainer, Kept, LimitCheck
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text, dump_text, parse_json
from emulator.core.wire import NOTHING, Headers, WireRequest
from emulator.faults import Strike
from emulator.pipeline import Emulator
from emulator.scenario.match import Match, Verdict

_FIGURES = (  # fields of an entry that are JSON as they are
    *("id", "time", "vendor", "method", "path", "status", "arrival", "deployment", "served", "operation", "stream"),
    *("principal", "session", "rule", "error", "finish_reason", "prompt_tokens", "completion_tokens", "sent_tokens"),
    *("planned_ttft", "ttft", "planned_end", "duration", "whole", "client_left", "hint", "events"),
    *("bytes_in", "bytes_out", "traceparent"),
)
AMENDED = ("whole", "client_left", "status", "sent_tokens", "duration")  # what may become known later


@dataclass(frozen=True, slots=True)
class Known:
    """Whoever answered a call of another replica would have answered it here by the same scenario."""

    explainer: Explainer
    emulator: Emulator


def write_entry(entry: Entry, identity: bytes) -> str:
    """All that is known of a call; ``identity``: what makes it the same as another."""
    document: Object = {name: getattr(entry, name) for name in _FIGURES}
    document["faults"] = entry.faults
    document["lateness"] = list(entry.lateness)
    document["limits"] = [asdict(limit) for limit in entry.limits]
    document["identity"] = identity.hex()
    kept = entry.kept
    if kept is not None:
        document["kept"] = _write_kept(kept)
    if entry.evidence is not None:
        document["evidence"] = _write_evidence(entry.evidence)
    return dump_text(document)


def _write_kept(kept: Kept) -> Object:
    request = kept.request
    return {
        "query": dict(request.query),
        "headers": [*request.headers.items()],
        "body": _write_body(request.body),
        "params": dict(request.params),
        "base": request.base_url,
        "answered": kept.headers,
        "said": None if kept.body is None else _write_body(kept.body),
        "text": kept.text,
        "tools": kept.tool_calls,
        "raw": None if kept.raw is None else _write_body(kept.raw),
        "strikes": [(strike.fault, strike.at) for strike in kept.strikes],
        "writes": list(kept.writes),
        "request_cut": kept.request_cut,
        "response_cut": kept.response_cut,
        "size": kept.size,
    }


def _write_evidence(evidence: Evidence) -> Object:
    match = evidence.match
    return {
        "attempt": evidence.attempt,
        "asked": match is not None,
        "rule": None if match is None or match.rule is None else match.rule.name,
        "counts": None if match is None else dict(match.counts),
        "verdicts": [asdict(verdict) for verdict in evidence.verdicts],
    }


def read_entry(text: str, known: Known | None) -> Entry:
    """What :func:`write_entry` wrote; ``known``: who can explain it."""
    document = as_object(parse_json(text))
    figures = {name: document[name] for name in _FIGURES}
    entry = Entry(**figures, attempts=Attempts())  # type: ignore[arg-type]  # each is what it was written from
    entry.faults = tuple([as_text(fault) for fault in as_array(document["faults"])])
    entry.lateness = tuple(as_array(document["lateness"]))  # type: ignore[arg-type]  # they are numbers
    entry.limits = tuple([LimitCheck(**as_object(limit)) for limit in as_array(document["limits"])])  # type: ignore[arg-type]
    identity = bytes.fromhex(as_text(document["identity"]))
    if "kept" in document:
        kept = _read_kept(as_object(document["kept"]), entry)
        entry.keep = lambda: kept
    if "evidence" in document and known is not None:
        entry.evidence = _read_evidence(as_object(document["evidence"]), identity, known)
    return entry


def _read_kept(document: Object, entry: Entry) -> Kept:
    request = WireRequest(
        entry.method,
        entry.path,
        _read_texts(document["query"]),
        CIMultiDict(_read_pairs(document["headers"])),
        _read_body(document["body"]),
        _read_texts(document["params"]),
        as_text(document["base"]),
        entry.principal,
        entry.session,
    )
    request.key = bytes.fromhex(entry.id)
    said, text = document["said"], document["text"]
    return Kept(
        request,
        headers=tuple(_read_pairs(document["answered"])),
        body=None if said is None else _read_body(said),
        text=None if text is None else as_text(text),
        tool_calls=tuple(_read_pairs(document["tools"])),
        raw=None if document["raw"] is None else _read_body(document["raw"]),
        strikes=tuple([_read_strike(as_array(strike)) for strike in as_array(document["strikes"])]),
        writes=tuple(as_array(document["writes"])),  # type: ignore[arg-type]  # they are pairs of numbers
        request_cut=bool(document["request_cut"]),
        response_cut=bool(document["response_cut"]),
        size=as_integer(document["size"]),
    )


def _read_strike(document: Sequence[JSON]) -> Strike:
    return Strike(as_text(document[0]), as_integer(document[1]))


def _read_evidence(document: Object, identity: bytes, known: Known) -> Evidence:
    match = None
    if document["asked"]:
        rule = next((rule for rule in known.emulator.rules if rule.name == document["rule"]), None)
        counts = {name: as_integer(count) for name, count in as_object(document["counts"]).items()}
        match = Match(rule, counts=counts)
    verdicts = tuple([Verdict(**as_object(verdict)) for verdict in as_array(document["verdicts"])])  # type: ignore[arg-type]
    return Evidence(known.explainer, match, identity, as_integer(document["attempt"]), verdicts)


def _write_body(body: bytes) -> JSON:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return [base64.b64encode(body).decode()]


def _read_body(document: JSON) -> bytes:
    if isinstance(document, str):
        return document.encode()
    return base64.b64decode(as_text(as_array(document)[0]))


def _read_texts(document: JSON) -> Mapping[str, str]:
    return {name: as_text(text) for name, text in as_object(document).items()} or NOTHING


def _read_pairs(document: JSON) -> Headers:
    return tuple([(as_text(name), as_text(text)) for name, text in map(as_array, as_array(document))])
