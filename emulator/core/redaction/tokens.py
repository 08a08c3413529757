"""Find credentials by their form: keys with a known prefix, JSON Web Tokens, private keys, also inside base64.

Recordings are searched for them, as they may be shared; the journal is not.
"""

import re
from base64 import b64decode
from collections.abc import Collection, Iterator

Span = tuple[int, int]

_MIN_SEEN = 8  # characters; a shorter credential is too common a text to be searched
_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (  # texts one of which is in each credential of the form; the form
    (("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?"),  # Databricks: personal access token
    (("dose", "dkea", "dsapi"), r"(?:dose|dkea|dsapi)[0-9a-f]{32}"),  # Databricks: OAuth secret and others
    (("sk-",), r"sk-(?:proj-|svcacct-|admin-|ant-(?:api|admin)\d\d-|or-v1-|lf-)?[A-Za-z0-9_-]{20,}"),
    (("JQQJ9",), r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{10,27}"),  # Azure: keys of Cognitive Services
    (("Q~",), r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,40}"),  # Entra ID: client secret
    (("hf_",), r"hf_[A-Za-z0-9]{30,}"),  # Hugging Face
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),  # GitHub
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,}"),
    (("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}"),  # GitLab
    (("AKIA", "ASIA", "AROA", "AIDA"), r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Z0-9])"),  # AWS
    (("AIza",), r"AIza[A-Za-z0-9_-]{35}"),  # Google
    (("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    (("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    (("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
    (
        ("gsk_", "nvapi-", "pplx-", "xai-", "r8_", "pcsk_", "lsv2_", "npm_", "dop_v1_", "tskey-", "k_live_", "k_test_"),
        r"(?:gsk|nvapi|pplx|xai|r8|pcsk|lsv2|npm|dop_v1|tskey|rk_live|sk_live|sk_test|rk_test)[_-][A-Za-z0-9_-]{20,}",
    ),
    (("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid
    (("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),  # JSON Web Token
    (
        ("PRIVATE KEY-----",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
    (
        ("earer ", "EARER ", "asic ", "ASIC "),
        r"(?i:\b(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/-]{16,}=*",
    ),
    (
        ("AccountKey=", "SharedAccessKey=", "SharedAccessSignature="),
        r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=[^;&\s\"'\\]{8,}",
    ),
)
_COMPILED = tuple((signs, re.compile(form)) for signs, form in _FORMS)
_PREFIX = re.compile(r"(?i)(?:bearer|basic)\s+|[A-Za-z]+=")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")


def find_tokens(text: str, seen: Collection[str] = ()) -> list[Span]:
    """Return start and end of each credential in a text, in order, without overlaps.

    Args:
        seen: credentials of the same call, which are found wherever they stand.
    """
    spans = [_without_prefix(text, *found.span()) for form in _list_forms(text) for found in form.finditer(text)]
    for secret in seen:
        at = text.find(secret) if len(secret) >= _MIN_SEEN else -1
        while at >= 0:
            spans.append((at, at + len(secret)))
            at = text.find(secret, at + len(secret))
    spans += [found.span() for found in _BASE64.finditer(text) if _holds_token(found[0], seen)]
    return _merge(spans)


def _list_forms(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the forms that a text may hold; to search for a fixed text is a hundred times as fast."""
    return (form for signs, form in _COMPILED if any(sign in text for sign in signs))


def _without_prefix(text: str, start: int, end: int) -> Span:
    prefix = _PREFIX.match(text, start, end)
    return (start if prefix is None else prefix.end(), end)


def _holds_token(run: str, seen: Collection[str]) -> bool:
    """Return whether base64 text decodes to a text with a credential; a prefix of another alphabet may come first."""
    padded = run.rstrip("=").translate(_URL_SAFE)
    for start in range(min(4, len(padded))):
        part = padded[start:]
        try:
            plain = b64decode(part[: len(part) - (len(part) % 4 == 1)] + "=" * (-len(part) % 4))
        except ValueError:
            continue
        text = plain.decode("latin-1")
        if any(form.search(text) for form in _list_forms(text)) or any(
            len(secret) >= _MIN_SEEN and secret in text for secret in seen
        ):
            return True
    return False


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > start:
            merged.append((start, end))
    return merged
