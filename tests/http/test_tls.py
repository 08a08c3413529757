"""TLS configuration from settings: files and names."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.http.tls import data_folder, find_names, is_windows_arm, open_tls
from emulator.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        pytest.param("linux", {"XDG_DATA_HOME": "/data"}, Path("/data/llm-emulator"), id="where XDG has a folder"),
        pytest.param("linux", {}, Path.home() / ".local/share/llm-emulator", id="without XDG"),
        pytest.param("linux", {"XDG_DATA_HOME": "data"}, Path.home() / ".local/share/llm-emulator", id="not relative"),
        pytest.param("darwin", {}, Path.home() / "Library/Application Support/llm-emulator", id="macOS"),
        pytest.param("darwin", {"XDG_DATA_HOME": "/data"}, Path("/data/llm-emulator"), id="macOS with XDG"),
        pytest.param("win32", {"LOCALAPPDATA": "/local"}, Path("/local/llm-emulator"), id="Windows"),
        pytest.param("win32", {}, Path.home() / "AppData/Local/llm-emulator", id="Windows without its variable"),
    ],
)
def test_data_folder_follows_platform_and_environment(platform: str, environment: dict[str, str], folder: Path) -> None:
    assert data_folder(environment, platform) == folder


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_unspecified_address_is_not_certificate_name(host: str) -> None:
    assert host not in find_names(host)


def test_certificate_names_are_unique_and_lower_case() -> None:
    names = find_names("127.0.0.1", ["LocalHost", "Emulator", "emulator", "*.svc.test"])
    assert names[:4] == ["localhost", "*.localhost", "127.0.0.1", "::1"]
    assert names[-2:] == ["emulator", "*.svc.test"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["https://emulator", "a b", "-a", "a-", "a..b", "a.*", "*", "bücher.test", "0.0.0.0"])
def test_invalid_tls_name_is_explained_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        open_tls(Settings(tls=True, tls_dir=tmp_path, tls_name=("fine", name)))
    assert str(caught.value) == f"--tls-name takes host names and addresses, not {name!r}"


def test_open_tls_without_tls_creates_no_authority(tmp_path: Path) -> None:
    tls = open_tls(Settings(tls_dir=tmp_path))
    assert (tls.context, tls.authority, list(tmp_path.iterdir())) == (None, None, [])


def test_missing_cryptography_package_is_explained(tmp_path: Path) -> None:
    lines = ["import sys", "sys.modules['cryptography'] = None", "from emulator.cli import main"]
    command = [sys.executable, "-c", "; ".join([*lines, f"sys.exit(main(['ca', '--tls-dir', {str(tmp_path)!r}]))"])]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    wanted = "emulator: error: a locally signed certificate needs the extra tls: pip install "  # of where it runs
    assert ended.stderr.startswith(wanted)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("system", "machine", "is_arm"),
    [("win32", "ARM64", True), ("win32", "AMD64", False), ("darwin", "arm64", False), ("linux", "aarch64", False)],
)
def test_is_windows_arm(system: str, machine: str, is_arm: bool) -> None:
    assert is_windows_arm(system, machine) is is_arm
