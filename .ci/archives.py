"""Compare what is in the wheel and the sdist of a folder with what belongs there; exit code 1 where they differ."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def list_tracked() -> set[str]:
    """The files that are tracked; none where this is no clone."""
    if not (ROOT / ".git").exists():
        return set()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(filter(None, listed.stdout.split("\0")))


def list_sdist(path: Path) -> set[str]:
    """The files of an sdist, without the folder that all of them are in."""
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive if not member.isdir()}


def list_wheel(path: Path) -> set[str]:
    """The files of a wheel, but for its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def list_installed(sources: set[str]) -> set[str]:
    """The files that a wheel has for these sources: the package, and the scenarios as a part of it."""
    shipped = {
        f"emulator/shipped/{name.removeprefix('scenarios/')}" for name in sources if name.startswith("scenarios/")
    }
    return shipped | {name for name in sources if name.startswith("emulator/")}


def find_relative_links(wheel: Path) -> list[str]:
    """Links of the wheel's description that lead nowhere on a package index."""
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return [link for text in texts for link in re.findall(r"\]\((?!https?://|#)([^)]*)\)", text)]


def compare(what: str, found: set[str], wanted: set[str]) -> list[str]:
    """One line for each file that is missing or does not belong there."""
    lines = [f"{what}: {name} is missing" for name in sorted(wanted - found)]
    return lines + [f"{what}: {name} does not belong there" for name in sorted(found - wanted)]


def report(folder: Path, tracked: set[str]) -> int:
    """Print what differs; 1 if anything does. Where nothing is tracked, the wheel is compared with the sdist."""
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    in_sdist, in_wheel = list_sdist(sdist), list_wheel(wheel)
    sources = tracked or in_sdist - {"PKG-INFO"}
    lines = compare(sdist.name, in_sdist, sources | {"PKG-INFO"})
    lines += compare(wheel.name, in_wheel, list_installed(sources))
    lines += [f"{wheel.name}: the description links {link}" for link in find_relative_links(wheel)]
    print("\n".join(lines) or f"{sdist.name}: {len(in_sdist)} files; {wheel.name}: {len(in_wheel)} files")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(report(Path(sys.argv[1]), list_tracked()))
