"""Find the vendor of a recorded URL by its host or path, and the path of the same route in the emulator."""

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, quote, urlsplit

_HOSTS = (
    (re.compile(r"\.(?:azuredatabricks\.net|(?:cloud|gcp)\.databricks\.(?:com|us|mil))$"), "databricks"),
    (
        re.compile(
            r"\.(?:(?:openai|cognitiveservices)\.azure\.(?:com|us)|(?:services|models|inference)\.ai\.azure\.com)$"
        ),
        "azure",
    ),
    (re.compile(r"\.inference\.ml\.azure\.com$"), "azure"),
    (re.compile(r"\.(?:endpoints\.huggingface\.cloud)$|^(?:api-inference|router)\.huggingface\.co$"), "tgi"),
)
_PATHS = (
    (re.compile(r"/serving-endpoints(?:/|$)|/api/2\.0/serving-endpoints"), "databricks"),
    (re.compile(r"/openai/(?:deployments|v1)/"), "azure"),
    (re.compile(r"/generate_stream$"), "tgi"),
    (re.compile(r"/v3/(?:chat|completions|embeddings|rerank)|/v2/models/[^/]+(?:/versions/[^/]+)?/infer$"), "openvino"),
)
OPENAI_PATHS: Mapping[str, str] = {
    "databricks": "/serving-endpoints",
    "azure": "/openai/v1",
    "mindie": "/v1",
    "tgi": "/v1",
    "openvino": "/v3",
}
"""Where a vendor serves what OpenAI serves under ``/v1``."""
_SENT = "".join(map(chr, range(0x21, 0x7F)))  # characters that a request line has as they are
_PREFIX = re.compile(rf"^(?:/_s/[^/]+)?(?:/({'|'.join(OPENAI_PATHS)})(?=/|$))?")  # of a session and of the front port


def find_vendor(url: str) -> str:
    """Return the vendor of a URL by the prefix of a front port, by its host, or by its path; empty if none says so."""
    parts = _split(url)
    if (found := _PREFIX.match(parts.path)) and found[1]:
        return found[1]
    host = f".{parts.hostname or ''}"
    for rows, text in ((_HOSTS, host), (_PATHS, parts.path)):
        for pattern, vendor in rows:
            if pattern.search(text) or pattern.search(text.lstrip(".")):
                return vendor
    return ""


def _split(url: str) -> SplitResult:
    """Split a URL; one that is none has no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def find_target(url: str, vendor: str) -> str:
    """Return path and query of a URL as the vendor has them.

    OpenAI's own ``/v1`` becomes the vendor's, and the prefixes of a session and of the front port are left out.
    """
    parts = _split(url)
    path = _PREFIX.sub("", parts.path, count=1) or "/"
    if parts.hostname in (None, "api.openai.com") and path.startswith("/v1/"):
        path = OPENAI_PATHS.get(vendor, "/v1") + path.removeprefix("/v1")
    return quote(f"{path}?{parts.query}" if parts.query else path, safe=_SENT)
