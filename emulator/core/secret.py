"""What nobody but its owner may read in whole."""

from __future__ import annotations

import re
from collections.abc import Mapping

HEADERS = ("authorization", "api-key", "x-api-key", "x-emulator-token", "cookie", "proxy-authorization")
QUERY = ("key", "api-key", "api_key", "subscription-key", "access_token")
_SECRET = frozenset(HEADERS)
_FORM = re.compile(
    rb"\b((?:client_secret|client_assertion|password|refresh_token|subject_token|assertion|code_verifier)=[^&]{0,4})[^&]*"
)
_FIELD = re.compile(
    rb'("(?:access_token|refresh_token|client_secret|password|[a-z_]+_plaintext)"\s*:\s*"[^"\\]{0,4})(?:[^"\\]|\\.)*"'
)


class CutCredential(str):
    """The first characters of a credential; it is equal to the whole, which it no longer knows.

    The whole is known again by its hash, which Python draws anew in every process; it leaves none.
    """

    __slots__ = ("_seal",)
    _seal: int

    def __new__(cls, whole: str) -> CutCredential:
        cut = super().__new__(cls, _cut(whole))
        cut._seal = hash(whole)
        return cut

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CutCredential):
            return self._seal == other._seal
        return isinstance(other, str) and self._seal == hash(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._seal


def is_secret(name: str) -> bool:
    """A header holds a credential."""
    return name.lower() in _SECRET


def cut_credential(name: str, value: str) -> str:
    """``Bearer dapi-search`` → ``Bearer dapi…``; headers that hold no credential as they are."""
    return _cut(value) if is_secret(name) else value


def cut_values(values: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Those of the names that have a value, each as :class:`CutCredential`."""
    return {name: CutCredential(values[name]) for name in names if name in values}


def cut_body(body: bytes) -> bytes:
    """A form, or JSON, with every secret in it cut to four characters."""
    if body[:1] in (b"{", b"["):
        return _FIELD.sub(rb"\1" + "…".encode() + b'"', body)
    return _FORM.sub(rb"\1" + "…".encode(), body)


def _cut(value: str) -> str:
    scheme, space, token = value.rpartition(" ")
    return f"{scheme}{space}{cut(token)}"


def cut(secret: str) -> str:
    """``dapi-search`` → ``dapi…``: enough to tell it by."""
    return f"{secret[:4]}…"
