"""Quoted words are unchanged after a shell has parsed them."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emulator.cli.quoting import quote
from tests.shells import ODD, SHELLS, Ground

pytestmark = pytest.mark.slow

BYTES = st.binary(max_size=20).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
LETTERS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
TEXTS = st.one_of(st.lists(st.sampled_from(ODD), max_size=8).map("".join), LETTERS, BYTES)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=st.lists(TEXTS, min_size=100, max_size=200))
@example(texts=[*ODD, "", "a\\", "\\\x7f", "\\\udcff", *(one + other for one in ODD for other in ODD)])
def test_quoted_text_round_trips_through_every_shell(
    tmp_path_factory: pytest.TempPathFactory, shell: str, texts: list[str]
) -> None:
    ground = Ground(tmp_path_factory.mktemp("shell"))
    script = "".join(f"printf '%s\\0' {quote(text)}\n" for text in texts)
    assert ground.run(shell, script.encode("utf-8", "surrogateescape")) == [
        text.encode("utf-8", "surrogateescape") for text in texts
    ]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("POST", "POST"),
        ("http://127.0.0.1:4010/a", "http://127.0.0.1:4010/a"),
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", "'it'\\''s'"),
        ('{"a":"b\\nc"}', '\'{"a":"b\\nc"}\''),
        ("a\\\\b", "'a'\\\\'\\b'"),
        ("=ls", "'=ls'"),
        ("-o", "'-o'"),
        ("a b\x03\n", "\"$(printf 'a b\\003')\"'\n'"),
    ],
)
def test_quote_output(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize("text", ["=ls", "\\'; touch made; '"])
def test_shlex_quote_fails_in_zsh_or_fish(tmp_path: Path, text: str) -> None:
    """zsh and fish interpret more characters than ``shlex.quote`` escapes."""
    for shell in ("zsh", "fish"):
        words = [
            *(["zsh", "-f"] if shell == "zsh" else ["fish", "--no-config"]),
            "-c",
            f"printf %s {shlex.quote(text)}",
        ]
        try:
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        except FileNotFoundError:
            pytest.skip(f"{shell} is not installed")
        if done.stdout != text.encode():
            return
    raise AssertionError("every shell reads it")
