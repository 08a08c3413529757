"""What nobody but its owner may read in whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

_SHOWN = 4  # characters of a credential
_SHORT = 12  # characters; of what has fewer, four would be too much of it


class MaskedCredential(str):
    """What is shown of a value that holds a credential; it is equal to the whole, which it no longer knows.

    The whole is known again by its hash, which Python draws anew in every process; it leaves none.
    """

    __slots__ = ("_seal",)
    _seal: int

    def __new__(cls, whole: str, shown: str) -> MaskedCredential:
        if isinstance(whole, MaskedCredential):
            return whole
        mask = super().__new__(cls, shown)
        mask._seal = hash(whole)
        return mask

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MaskedCredential):
            return self._seal == other._seal
        return isinstance(other, str) and self._seal == hash(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._seal


class CredentialDigest(str):
    """The first characters of a credential that is known by its digests alone, so that it may be kept and sent."""

    __slots__ = ("digest", "folded")
    digest: str
    folded: str

    def __new__(cls, shown: str, digest: str, folded: str) -> CredentialDigest:
        sealed = super().__new__(cls, shown)
        sealed.digest, sealed.folded = digest, folded
        return sealed


def digest_credential(token: str) -> CredentialDigest:
    """A credential as its digests; one that is sealed stays as it is."""
    if isinstance(token, CredentialDigest):
        return token
    return CredentialDigest(mask(token), _digest(token), _digest(token.lower()))


def fingerprint(token: str) -> str:
    """32 hex digits that tell a credential from others, sealed or not."""
    return token.digest if isinstance(token, CredentialDigest) else _digest(token)


def matches_folded(token: str, given: str) -> bool:
    """What was given is the credential, in whatever case."""
    if isinstance(token, CredentialDigest):
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


def build_credential_map(owners: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Whom credentials stand for, found by the whole credential also where only its digest is known."""
    owners = list(owners)
    return _Keyring(owners) if any(isinstance(token, CredentialDigest) for token, _ in owners) else dict(owners)


def mask(secret: str) -> str:
    """``dapi-search-1`` → ``dapi…``: enough to tell it by; of a short one nothing. What is cut stays as it is."""
    if isinstance(secret, CredentialDigest):
        return str(secret)
    if len(secret) < _SHORT:
        return secret if secret.endswith("…") and len(secret) <= _SHOWN + 1 else "…"
    return f"{secret[:_SHOWN]}…"
