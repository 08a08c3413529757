"""Compute the state of a stored batch at a time, and list the files that batches have written by then."""

from base64 import b64encode

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_number, as_object, as_text

_TOLERANCE = 1e-6  # seconds; absorbs the rounding of Unix time


def build_state(document: Object, now: float) -> Object:
    """Return a batch in its state: validating, in progress, finalizing, then completed, by the share of its time."""
    batch = as_object(document["batch"])
    if batch["status"] in ("failed", "cancelled"):
        return batch
    start, end = as_number(document["starts"]), as_number(document["ends"])
    passed = now - start + _TOLERANCE
    shares = (("in_progress", 0.1), ("finalizing", 0.9), ("completed", 1.0))
    for status, share in shares:
        at = start + (end - start) * share
        if passed >= at - start:
            batch = {**batch, "status": status, f"{status}_at": int(at)}
    if batch["status"] == "completed":
        return {**batch, **as_object(document["results"])}
    return batch


def list_results(request: Request, now: float) -> list[Object]:
    """Return the files of completed batches, as documents of uploaded files."""
    files = []
    for document in map(as_object, request.documents.values()):
        if "batch" not in document or document["principal"] != request.principal:
            continue
        state = build_state(document, now)
        for field, content in (("output_file_id", document["output"]), ("error_file_id", document["failures"])):
            if state.get(field) is not None:
                files.append(_build_file(state, field, as_text(content)))
    return files


def _build_file(state: Object, field: str, content: str) -> Object:
    data = content.encode()
    what = field.removesuffix("_file_id")
    found: Object = {
        "id": state[field],
        "object": "file",
        "bytes": len(data),
        "created_at": state["completed_at"],
        "filename": f"{state['id']}_{what}.jsonl",
        "purpose": "batch_output",
        "status": "processed",
    }
    encoded: JSON = b64encode(data).decode()
    return {"file": found, "content": encoded}
