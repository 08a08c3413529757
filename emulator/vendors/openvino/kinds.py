"""What kinds of servables there are."""

from __future__ import annotations

from emulator.core.call import Deployment

# Names of the same in configuration files; graphs for pictures and sound are there, and take no text.
_SAME = {"llm": "text", "vlm": "vision", "image": "other", "stt": "other", "tts": "other"}


def kind_of(deployment: Deployment) -> str:
    """``text``, ``speculative``, ``vision``, ``classic``, ``embeddings``, ``rerank`` or ``other``."""
    kind = deployment.kind
    if not kind:
        return deployment.task if deployment.task in ("embeddings", "rerank") else "text"
    return _SAME.get(kind, kind)
