"""Reason phrases as servers write them; the standard library's own list changes between Python versions."""

from http import HTTPStatus

_OVERRIDDEN = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus} | _OVERRIDDEN


def reason_phrase(status: int) -> str:
    """``404`` → ``Not Found``; a number without a phrase is ``Unknown``."""
    return _PHRASES.get(status, "Unknown")
