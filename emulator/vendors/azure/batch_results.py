"""Compute the state of a stored batch at a time, and list the files that batches have written by then.

A batch is validated for a tenth of its time, runs until nine tenths, and is then finalized. While it runs its lines end
one by one. A cancelled one is cancelling for a tenth of the time and keeps the lines that had ended.

Sources: openai/openai-openapi, "Batch", "Cancel batch"; learn.microsoft.com, "Azure OpenAI Batch": a completed batch
has an error file, which may be empty.
"""

from base64 import b64encode
from collections.abc import Iterator

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.vendors.azure.documents import TOLERANCE

_STATES = (("in_progress", 0.1), ("finalizing", 0.9), ("completed", 1.0))
_CANCELLING = 0.1  # share of the batch's time
_OUTPUT, _ERRORS = "output_file_id", "error_file_id"


def build_state(document: Object, now: float) -> Object:
    """Return a batch in its state at a time."""
    batch = as_object(document["batch"])
    if batch["status"] == "failed":
        return batch
    start, end = as_number(document["starts"]), as_number(document["ends"])
    stopped = document.get("stopped")
    passed = (now if stopped is None else as_number(stopped)) - start + TOLERANCE
    for status, share in _STATES:
        at = start + (end - start) * share
        if passed >= at - start:
            batch = {**batch, "status": status, f"{status}_at": int(at)}
    if stopped is not None:
        at = as_number(stopped) + (end - start) * _CANCELLING
        ended: Object = {"status": "cancelled", "cancelled_at": int(at)} if now + TOLERANCE >= at else {}
        batch = {**batch, "status": "cancelling", "cancelling_at": int(as_number(stopped)), **ended}
    return {**batch, **_count(document, passed / (end - start) if end > start else 1.0, str(batch["status"]))}


def _count(document: Object, share: float, status: str) -> Object:
    """Return the counts of the lines that have ended, and the files of a batch at its end."""
    lines = as_array(document["answered"])
    ended = lines[: int(len(lines) * min(max((share - 0.1) / 0.8, 0.0), 1.0))]
    right = ended.count(True)
    found: Object = {"request_counts": {"total": len(lines), "completed": right, "failed": len(ended) - right}}
    if status == "completed" or (status == "cancelled" and ended):
        found |= {_OUTPUT: document[_OUTPUT] if right else None, _ERRORS: document[_ERRORS]}
    return found


def list_results(request: Request, now: float) -> Iterator[Object]:
    """Yield the files of batches at their end, as documents of uploaded files."""
    for document in map(as_object, request.documents.values()):
        if "batch" not in document or document["principal"] != request.principal:
            continue
        state = build_state(document, now)
        counts = as_object(state["request_counts"])
        for field, texts, count in ((_OUTPUT, "output", "completed"), (_ERRORS, "failures", "failed")):
            if state.get(field) is not None:
                ended = as_text(document[texts]).split("\n")[: int(as_number(counts[count]))]
                yield _build_file(document, state, field, "".join(f"{line}\n" for line in ended))


def _build_file(document: Object, state: Object, field: str, content: str) -> Object:
    data = content.encode()
    what = field.removesuffix("_file_id")
    created = as_number(state["completed_at"] or state["cancelled_at"])
    lifetime = document["lifetime"]
    found: Object = {
        "id": state[field],
        "object": "file",
        "bytes": len(data),
        "created_at": created,
        "filename": f"{state['id']}_{what}.jsonl",
        "purpose": "batch_output",
        "status": "processed",
        **({} if lifetime is None else {"expires_at": created + as_number(lifetime)}),
    }
    encoded: JSON = b64encode(data).decode()
    return {"file": found, "content": encoded}
