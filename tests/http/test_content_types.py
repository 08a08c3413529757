"""Content types that browsers may run scripts in."""

import pytest

from emulator.http.response_head import is_inert

INERT = [
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    " application/json ",
    "application/problem+json",
    "application/jsonl",
    "application/x-ndjson",
    "application/octet-stream",
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "text/plain",
    "text/plain; version=0.0.4; charset=utf-8",
    "TEXT/PLAIN;charset=UTF-8",
    "text/event-stream;charset=utf-8",
    "text/csv",
    "image/png",
    "image/jpeg",
    "audio/mpeg",
    "audio/wav",
    "video/mp4",
]
PAGES = [
    "text/html",
    "text/html; charset=utf-8",
    "TEXT/HTML",
    "text/html;",
    "application/xhtml+xml",
    "image/svg+xml",
    "image/svg",
    "text/xml",
    "application/xml",
    "application/rss+xml",
    "video/x+xml",
    "text/xsl",
    "multipart/x-mixed-replace; boundary=a",
    "multipart/related",
    "message/rfc822",
    "application/pdf",
    "text/javascript",
    "*/*",
    "unknown/unknown",
    "application/unknown",
    "",
    " ",
    "; charset=utf-8",
    "html",
    "json",
    "application/",
    "/json",
    "application/json, text/html",
    "application/json; a=b, text/html",
    "application/json;charset=utf-8,text/html",
    "application/json text/html",
    "text/plain\ttext/html",
    "text / plain",
    "text/pl\u00e4in",
    "application/json\x0b",
    "text/plain-html",
]


@pytest.mark.parametrize("content_type", INERT)
def test_data_content_types_are_inert(content_type: str) -> None:
    assert is_inert(content_type)


@pytest.mark.parametrize("content_type", PAGES)
def test_executable_content_types_are_not_inert(content_type: str) -> None:
    assert not is_inert(content_type)
