"""Credentials of which only the beginning is kept."""

import pytest

from emulator.core.redaction.credentials import (
    MaskedCredential,
    build_credential_map,
    digest_credential,
    fingerprint,
    mask,
    matches_folded,
)


def test_masked_credential_equals_only_full_value() -> None:
    mask = MaskedCredential("Bearer dapi-search-1", "Bearer dapi…")
    assert str.__str__(mask) == "Bearer dapi…"
    assert mask == "Bearer dapi-search-1" == mask
    assert mask != "Bearer dapi-batch"
    assert mask != "Bearer dapi…"
    assert mask == MaskedCredential("Bearer dapi-search-1", "") != MaskedCredential("Bearer dapi-batch", "")
    assert {mask, MaskedCredential("Bearer dapi-search-1", "")} == {mask}
    assert mask.startswith("Bearer dapi")
    assert "search" not in "".join(mask)


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        pytest.param("dapi-search-1", "dapi…", id="its first letters"),
        pytest.param("twelve-chars", "twel…", id="long enough"),
        pytest.param("eleven-char", "…", id="a short one is hidden"),
        pytest.param("abcd", "…", id="one that would be shown whole"),
        pytest.param("", "…", id="none"),
        pytest.param("dapi…", "dapi…", id="one that is cut"),
        pytest.param("…", "…", id="a short one that is cut"),
        pytest.param("secret…", "…", id="no more than was shown"),
    ],
)
def test_mask_shows_four_characters_of_long_secrets(secret: str, shown: str) -> None:
    assert mask(secret) == shown


@pytest.mark.parametrize("sealed", [False, True])
def test_credential_map_finds_only_full_credential(sealed: bool) -> None:
    tokens = [digest_credential(token) if sealed else token for token in ("dapi-one", "dapi-two")]
    ring = build_credential_map(zip(tokens, ("search", "batch"), strict=True))
    assert [ring.get(token) for token in ("dapi-one", "dapi-two", "dapi…", "DAPI-ONE")] == [
        "search",
        "batch",
        None,
        None,
    ]
    assert "dapi-two" in ring
    assert len(ring) == 2
    assert [matches_folded(token, "DAPI-One") for token in ring] == [True, False]
    assert [fingerprint(token) for token in ring] == [fingerprint("dapi-one"), fingerprint("dapi-two")]


def test_digested_credential_is_masked_and_digested_once() -> None:
    sealed = digest_credential("dapi-search-1")
    assert (sealed, mask(sealed), digest_credential(sealed).digest) == ("dapi…", "dapi…", fingerprint("dapi-search-1"))
