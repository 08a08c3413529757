"""The command that installs a missing extra, where the package runs."""

import json
from pathlib import Path

import pytest

from emulator.core.extras import explain_missing


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        pytest.param(None, 'pip install "llm-emulator[tls]"', id="an index"),
        pytest.param(
            {"url": "file:///w/llm_emulator-1.whl", "archive_info": {}},
            'pip install "llm-emulator[tls] @ file:///w/llm_emulator-1.whl"',
            id="a file",
        ),
        pytest.param(
            {"url": "https://host/emulator", "vcs_info": {"vcs": "git", "commit_id": "a"}},
            'pip install "llm-emulator[tls] @ git+https://host/emulator"',
            id="a repository",
        ),
    ],
)
def test_command_fits_origin_of_installation(origin: object, command: str, tmp_path: Path) -> None:
    folder = tmp_path / "llm_emulator-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-emulator\nVersion: 1\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))
    assert explain_missing("it", "tls", tmp_path) == f"it needs the extra tls: {command}"


def test_command_fits_checkout(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert explain_missing("it", "tls", tmp_path) == f'it needs the extra tls: pip install ".[tls]" in {tmp_path}'
