"""``.ci/release.py``: the notes of a release, and when there can be none."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import emulator

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "release.py"
PACKAGE = '"""Doc."""\n\n__version__ = "1.2.0"\n'
CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n"
    "## 1.2.0 - 2026-11-24\n\n### Added\n\n- A thing.\n\n## [1.1.0] - 2026-10-01\n\n- Another.\n"
)

_spec = importlib.util.spec_from_file_location("release", SCRIPT)
assert _spec
assert _spec.loader
release = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(release)


def test_release_notes_are_section_of_tag() -> None:
    assert release.write_notes("v1.2.0", PACKAGE, CHANGELOG) == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("tag", "package", "changelog", "reason"),
    [
        pytest.param("v1.2.1", PACKAGE, CHANGELOG, "the tag is v1.2.1, and the version", id="another version"),
        pytest.param("1.2.0", PACKAGE, CHANGELOG, "the tag is 1.2.0, and the version", id="no v"),
        pytest.param("v1.2.0", "x = 1\n", CHANGELOG, "states no version", id="a package without one"),
        pytest.param(
            "v1.2.0",
            PACKAGE,
            CHANGELOG.replace("1.2.0 -", "1.3.0 -"),
            "no section '## 1.2.0 - YYYY-MM-DD'",
            id="no section",
        ),
        pytest.param(
            "v1.2.0", PACKAGE, CHANGELOG.replace("### Added\n\n- A thing.\n", ""), "no section", id="an empty section"
        ),
        pytest.param("v1.2.0", PACKAGE, CHANGELOG.replace(" - 2026-11-24", ""), "is neither", id="no date"),
        pytest.param(
            "v1.2.0",
            PACKAGE,
            CHANGELOG.replace("Unreleased\n", "Unreleased\n\n- Late.\n"),
            "changes under Unreleased",
            id="changes that the release lacks",
        ),
    ],
)
def test_release_notes_are_refused_when_inputs_disagree(tag: str, package: str, changelog: str, reason: str) -> None:
    with pytest.raises(release.NotReadyError, match=reason):
        release.write_notes(tag, package, changelog)


def test_changelog_is_parsable_for_release_notes() -> None:
    sections = release.split_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    first, *versions = sections
    assert first == "Unreleased"
    assert emulator.__version__ in versions
    assert all(sections[version] for version in versions)


def test_release_script_prints_reason() -> None:
    ended = subprocess.run([sys.executable, SCRIPT, "v999"], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"no release: the tag is v999, and the version in emulator/__init__.py is {emulator.__version__}\n"
    )
