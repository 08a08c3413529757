"""Name the operation of a request (chat, completions, embeddings, …), the label of GenAI metrics and spans.

``recorder.py`` names each call by it.

Source: semantic-conventions-genai, ``gen_ai.operation.name``.
"""

from __future__ import annotations

import re

from emulator.core.cache import lru
from emulator.core.calls import InferenceCall
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.http import Request
from emulator.core.requests import CompletionRequest

_PATHS = (  # how the path of a route ends; the first that matches counts
    ("chat", r"/chat/completions|/messages|/responses|:(?:stream)?generateContent|/chat"),
    ("completions", r"/completions|/generate|/generate_stream|/infer_token"),
    ("embeddings", r"/embeddings|/embed"),
    ("rerank", r"/rerank"),
    ("images", r"/images/(?:generations|edits)"),
    ("transcription", r"/audio/trans(?:criptions|lations)"),
    ("speech", r"/audio/speech"),
)
_MEMBERS = (("chat", "messages"), ("completions", "prompt"), ("completions", "inputs"))  # of routes for several tasks
_SEVERAL = re.compile(r"/|.*/(?:invocations|vertex)", re.IGNORECASE)


def name_operation(request: Request, call: InferenceCall | None) -> str | None:
    """Return the operation of a request: a call's task, or completions where a chat's deployment continues a prompt.

    A request that was refused before it became a call is named by its route; ``None``: no route of a model.
    """
    if call is None:
        return _name_refused(request) if request.method == "POST" else None
    task, asked = call.deployment.task, call.request
    if task != "chat" or type(asked) is not CompletionRequest or asked.known is not None:
        return task
    return _find_by_path(request.path) or "completions"


def _name_refused(request: Request) -> str | None:
    found = _find_by_path(request.path)
    if found is not None or len(request.body) > INLINE_BYTES or _SEVERAL.fullmatch(request.path) is None:
        return found
    members = request.json_members()
    return next((operation for operation, name in _MEMBERS if name in members), None)


@lru(1024)
def _find_by_path(path: str) -> str | None:
    return next((operation for operation, pattern in _PATHS if re.search(f"(?:{pattern})$", path)), None)
