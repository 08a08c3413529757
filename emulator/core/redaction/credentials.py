"""Mask and digest credentials before they are stored or shown.

The journal and recordings keep them so, and the control API shows those of the scenario masked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

_DIGITS = 6  # of a placeholder
_SHOWN = 4  # characters of a masked credential
_MIN_LENGTH = 12  # characters; four of a shorter credential would reveal too much


class MaskedCredential(str):
    """Masked text that compares equal to the original value.

    Only the original's ``hash()`` is stored; Python salts it per process, and it never leaves the process.
    """

    __slots__ = ("_original_hash",)
    _original_hash: int

    def __new__(cls, whole: str, shown: str) -> "MaskedCredential":
        if isinstance(whole, MaskedCredential):
            return whole
        mask = super().__new__(cls, shown)
        mask._original_hash = hash(whole)
        return mask

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MaskedCredential):
            return self._original_hash == other._original_hash
        return isinstance(other, str) and self._original_hash == hash(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._original_hash


class CredentialDigest(str):
    """Masked credential with its digests, in place of the credential in stored and transmitted documents.

    ``digest`` is of the credential, ``folded`` of its lower-case form.
    """

    __slots__ = ("digest", "folded")
    digest: str
    folded: str

    def __new__(cls, shown: str, digest: str, folded: str) -> "CredentialDigest":
        credential = super().__new__(cls, shown)
        credential.digest, credential.folded = digest, folded
        return credential


def digest_credential(token: str) -> CredentialDigest:
    """Replace a credential by its digests; return a :class:`CredentialDigest` unchanged."""
    if isinstance(token, CredentialDigest):
        return token
    return CredentialDigest(mask(token), _digest(token), _digest(token.lower()))


def fingerprint(token: str) -> str:
    """Return 32 hex digits that identify a credential, digested or not."""
    return token.digest if isinstance(token, CredentialDigest) else _digest(token)


def matches_folded(token: str, given: str) -> bool:
    """Return whether ``given`` equals a credential, ignoring case."""
    if isinstance(token, CredentialDigest):
        return token.folded == _digest(given.lower())
    return token.lower() == given.lower()


def _digest(token: str) -> str:
    return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=16, person=b"emulator-key").hexdigest()


class _CredentialMap(Mapping[str, str]):
    """Mapping from credentials to principals in which some credentials are digests."""

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
    """Build a mapping from credentials to principals; a lookup by the credential also finds its digest."""
    owners = list(owners)
    return _CredentialMap(owners) if any(isinstance(token, CredentialDigest) for token, _ in owners) else dict(owners)


def placeholder(secret: str) -> str:
    """Return a mask that tells credentials apart, the same in every process: ``dapi…3f9a1c``."""
    return f"{mask(secret)}{fingerprint(secret)[:_DIGITS]}"


def mask(secret: str) -> str:
    """Mask a credential: ``dapi-search-1`` → ``dapi…``, a short one → ``…``; a masked one is unchanged."""
    if isinstance(secret, CredentialDigest):
        return str(secret)
    if len(secret) < _MIN_LENGTH:
        return secret if secret.endswith("…") and len(secret) <= _SHOWN + 1 else "…"
    return f"{secret[:_SHOWN]}…"
