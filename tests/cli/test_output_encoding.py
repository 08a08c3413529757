"""Output in encodings that lack characters, and input with byte order marks."""

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.encoding import parse_json_text

pytestmark = pytest.mark.slow
SCENARIO = """
version: 1
rules:
- name: 默认 é 😀
  when: {prompt: {contains: zap}}
  reply: {text: fine}
"""
REQUEST = {
    "vendor": "azure",
    "path": "/chat/completions?api-version=2024-05-01-preview",
    "headers": {"api-key": "k"},
    "body": {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(SCENARIO + "  默: 1\n", encoding="utf-8")
    (tmp_path / "request.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps({"const": "默认 é 😀"}), encoding="utf-8")
    return tmp_path


def run(folder: Path, words: list[str], **environment: str) -> "subprocess.CompletedProcess[bytes]":
    base = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-m", "emulator", *words],
        cwd=folder,
        env={**base, **environment},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["cp437", "cp1252"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["schema"], 0, id="schema"),
        pytest.param(["explain", "s.yaml", "request.json", "--json"], 0, id="explanation in JSON"),
    ],
)
def test_json_is_valid_in_every_encoding(folder: Path, words: list[str], code: int, encoding: str) -> None:
    ended = run(folder, words, PYTHONIOENCODING=encoding)
    assert (ended.returncode, ended.stderr) == (code, b"")
    assert json.loads(ended.stdout.decode(encoding)) == json.loads(run(folder, words, PYTHONIOENCODING="utf-8").stdout)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["explain", "s.yaml", "request.json"], id="explain"),
        pytest.param(["check", "s.yaml", "bad.yaml"], id="check"),
        pytest.param(["instance", "schema.json"], id="instance"),
        pytest.param(["models", "azure", "s.yaml"], id="models"),
        pytest.param(["--help"], id="help"),
    ],
)
def test_no_verb_fails_where_encoding_lacks_characters(folder: Path, words: list[str]) -> None:
    ended = run(folder, words, PYTHONIOENCODING="cp437")
    assert b"Traceback" not in ended.stderr
    assert ended.stdout


def test_pipe_gets_utf_8_unless_asked_otherwise(folder: Path) -> None:
    words = ["explain", "s.yaml", "request.json"]
    ended = run(folder, words, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert "默认 é 😀" in ended.stdout.decode()
    assert r"\u9ed8\u8ba4 é \ud83d\ude00" in run(folder, words, PYTHONIOENCODING="cp437").stdout.decode("cp437")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(codecs.BOM_UTF8 + b'{"a": "\xc3\xa9"}', id="UTF-8"),
        pytest.param(codecs.BOM_UTF16_LE + '{"a": "é"}'.encode("utf-16-le"), id="UTF-16, little endian"),
        pytest.param(codecs.BOM_UTF16_BE + '{"a": "é"}'.encode("utf-16-be"), id="UTF-16, big endian"),
        pytest.param(b'{"a": "\xc3\xa9"}', id="none"),
    ],
)
def test_byte_order_mark_is_read_over(data: bytes) -> None:
    assert parse_json_text(data) == {"a": "é"}


@pytest.mark.parametrize("data", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE + b"{", b"\xff\xfe{\x00", b"\xef\xbb{}"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json_text(data)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_verbs_read_files_of_powershell(folder: Path, encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "request.json").write_text(json.dumps(REQUEST), encoding=encoding)
    (folder / "schema.json").write_text(json.dumps({"const": "é"}), encoding=encoding)
    (folder / "s.yaml").write_text(SCENARIO, encoding="utf-8-sig", newline="\r\n")
    assert main(["explain", str(folder / "s.yaml"), str(folder / "request.json")]) == 0
    assert main(["check", str(folder / "s.yaml")]) == 0
    assert "默认" in capsys.readouterr().out
