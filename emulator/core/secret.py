"""What nobody but its owner may read in whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from urllib.parse import unquote_plus

from multidict import CIMultiDict

from emulator.core.room import remember
from emulator.core.wire import WireRequest

_SECRET = re.compile(
    r"(?:^|[-_])(?:authorization(?:-[a-z]+)?|auth(?:entication)?|cookie|token|secret|passw(?:or)?d|credentials?|signature|assertion|jwt)$"
    r"|api[-_]?key$|(?:access|account|functions|master|private|secret|shared|subscription)[-_]key$",
    re.IGNORECASE,
)
_ALONE = ("key", "sig", "code", "code_verifier")  # words that mean a credential in a query or a form
_LONGEST = 64  # characters of a name that is remembered
_FORM = re.compile(rb"(?:^|(?<=&))([^&=]{1,64})=([^&]*)")
_FIELD = re.compile(
    rb'("(?:(?:access|refresh|id)_token|client_secret|password|authorization|(?:x-|encoded_)?api[-_]?key'
    rb'|connection_string|[a-z_]+_plaintext)"\s*:\s*"[^"\\]{0,4})(?:[^"\\]|\\.)*(?:"|\\?\Z)',
    re.IGNORECASE,
)
_KEY = re.compile(rb'("authentication"\s*:\s*\{[^{}]{0,200}?"key"\s*:\s*"[^"\\]{0,4})[^"\\]*(?:"|\Z)')
_TOOLS = (b'"mcp"', b'"data_sources"')  # where a chat says how others are to be asked for it


class CutCredential(str):
    """The first characters of a credential; it is equal to the whole, which it no longer knows.

    The whole is known again by its hash, which Python draws anew in every process; it leaves none.
    """

    __slots__ = ("_seal",)
    _seal: int

    def __new__(cls, whole: str) -> CutCredential:
        if isinstance(whole, CutCredential):
            return whole
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


class SealedCredential(str):
    """The first characters of a credential that is known by its digests alone, so that it may be kept and sent."""

    __slots__ = ("digest", "folded")
    digest: str
    folded: str

    def __new__(cls, shown: str, digest: str, folded: str) -> SealedCredential:
        sealed = super().__new__(cls, shown)
        sealed.digest, sealed.folded = digest, folded
        return sealed


def seal(token: str) -> SealedCredential:
    """A credential as its digests; one that is sealed stays as it is."""
    if isinstance(token, SealedCredential):
        return token
    return SealedCredential(cut(token), _digest(token), _digest(token.lower()))


def fingerprint(token: str) -> str:
    """32 hex digits that tell a credential from others, sealed or not."""
    return token.digest if isinstance(token, SealedCredential) else _digest(token)


def is_folded(token: str, given: str) -> bool:
    """What was given is the credential, in whatever case."""
    if isinstance(token, SealedCredential):
        return token.folded == _digest(given.lower())
    return token.lower() == given.lower()


def _digest(token: str) -> str:
    return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=16, person=b"emulator-key").hexdigest()


class _Keyring(Mapping[str, str]):
    """Credentials, some of which are sealed, and whom they stand for."""

    def __init__(self, owners: Sequence[tuple[str, str]]) -> None:
        self._tokens = {fingerprint(token): token for token, _ in owners}
        self._owners = {fingerprint(token): owner for token, owner in owners}

    def __getitem__(self, token: str) -> str:
        return self._owners[fingerprint(token)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens.values())

    def __len__(self) -> int:
        return len(self._tokens)


def make_keyring(owners: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Whom credentials stand for, found by the whole credential also where only its digest is known."""
    owners = list(owners)
    return _Keyring(owners) if any(isinstance(token, SealedCredential) for token, _ in owners) else dict(owners)


def is_secret(name: str) -> bool:
    """A header holds a credential, as far as its name tells: ``api-key``, ``x-goog-api-key``, ``x-auth-token``."""
    return _is_named(name) if len(name) <= _LONGEST else _SECRET.search(name) is not None


@remember(1024)
def _is_named(name: str) -> bool:
    return _SECRET.search(name) is not None


def is_secret_field(name: str) -> bool:
    """A value of a query or a form is a credential; there ``key`` and ``code`` mean one, too."""
    return is_secret(name) or name.lower() in _ALONE


def cut_credential(name: str, value: str) -> str:
    """``Bearer dapi-search`` → ``Bearer dapi…``; headers that hold no credential as they are."""
    return _cut(value) if is_secret(name) else value


def cut_values(values: Mapping[str, str], is_one: Callable[[str], bool]) -> dict[str, str]:
    """Those whose names say so, each as :class:`CutCredential`; of one that came several times the first."""
    cut: dict[str, str] = {}
    for name in values:
        if is_one(name) and name not in cut:
            cut[name] = CutCredential(values[name])
    return cut


def cut_body(body: bytes) -> bytes:
    """A form, or JSON, with every secret in it cut to four characters."""
    if body[:1] in (b"{", b"["):
        return _KEY.sub(rb"\1" + "…".encode() + b'"', _FIELD.sub(rb"\1" + "…".encode() + b'"', body))
    return _FORM.sub(_cut_field, body)


def cut_call(body: bytes) -> bytes:
    """The same of what asks a model: it has secrets only where it names tools and sources that ask for them."""
    return cut_body(body) if any(tool in body for tool in _TOOLS) else body


def _cut_field(found: re.Match[bytes]) -> bytes:
    name, value = found.groups()
    if not is_secret_field(unquote_plus(name.decode("latin-1"))):
        return found[0]
    return name + b"=" + cut(value.decode("utf-8", "replace")).encode()


def _cut(value: str) -> str:
    scheme, space, token = value.rpartition(" ")
    return f"{scheme}{space}{cut(token)}"


def cut(secret: str) -> str:
    """``dapi-search`` → ``dapi…``: enough to tell it by."""
    return str(secret) if isinstance(secret, SealedCredential) else f"{secret[:4]}…"


def cut_credentials(wire: WireRequest) -> None:
    """Leave no credential of a request's headers and query whole."""
    secrets = cut_values(wire.headers, is_secret)
    if any(wire.headers[name] is not cut for name, cut in secrets.items()):
        headers = CIMultiDict(wire.headers)
        for name, cut in secrets.items():
            headers[name] = cut
        wire.headers = headers
    asked = cut_values(wire.query, is_secret_field) if wire.query else None
    if asked:
        wire.query = {**wire.query, **asked}
