"""Print the notes of a release: ``release.py v0.1.0`` gives what CHANGELOG.md says of it.

The exit code is 1, with a reason, where the tag is not the package's version, CHANGELOG.md has no words on it, or its
section ``Unreleased`` still has some.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


class NotReadyError(Exception):
    """Why there can be no release yet."""


def read_version(package: str) -> str:
    """The version that the package's source states."""
    stated = re.search(r'^__version__ = "([^"]+)"$', package, re.MULTILINE)
    if stated is None:
        raise NotReadyError("emulator/__init__.py states no version")
    return stated[1]


def split_changelog(text: str) -> dict[str, str]:
    """The sections of a changelog by their names: a version, or ``Unreleased``."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    sections = {}
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        named = re.fullmatch(r"(?:Unreleased|\[?([0-9][^\s\]]*)\]? - \d{4}-\d{2}-\d{2})", heading.strip())
        if named is None:
            raise NotReadyError(f"CHANGELOG.md: '## {heading}' is neither Unreleased nor VERSION - YYYY-MM-DD")
        sections[named[1] or "Unreleased"] = body.strip()
    return sections


def write_notes(tag: str, package: str, changelog: str) -> str:
    """What the changelog says of the release that a tag names.

    Raises:
        NotReadyError: tag, package and changelog do not agree.
    """
    version = read_version(package)
    if tag != f"v{version}":
        raise NotReadyError(f"the tag is {tag}, and the version in emulator/__init__.py is {version}")
    sections = split_changelog(changelog)
    if not sections.get(version):
        raise NotReadyError(f"CHANGELOG.md has no section '## {version} - YYYY-MM-DD' with words in it")
    if sections.get("Unreleased"):
        raise NotReadyError(f"CHANGELOG.md has changes under Unreleased; {version} has to take them")
    return sections[version] + "\n"


if __name__ == "__main__":
    try:
        package, changelog = ((ROOT / name).read_text("utf-8") for name in ("emulator/__init__.py", "CHANGELOG.md"))
        print(write_notes(sys.argv[1], package, changelog), end="")
    except NotReadyError as error:
        sys.exit(f"no release: {error}")
