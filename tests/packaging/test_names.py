"""Names of repository, image and version: pyproject.toml and the package define each once."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import emulator

ROOT = Path(__file__).parents[2]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
REPOSITORY = URLS["Repository"]
SLUG = REPOSITORY.removeprefix("https://github.com/")
KINDS = {"", ".cfg", ".css", ".html", ".json", ".lock", ".md", ".py", ".toml", ".ts", ".yaml", ".yml"}
LEFT_OUT = {".git", ".venv", "build", "dist", "golden", "node_modules", "packaging"}


def list_texts(folder: Path) -> Iterator[Path]:
    """The files in which people or machines read names, below a folder."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in LEFT_OUT and not path.name.endswith(("_cache", "__pycache__", ".egg-info")):
                yield from list_texts(path)
        elif path.suffix in KINDS:
            yield path


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in list_texts(ROOT)}

# What each pattern finds has to be one of these.
SAME = {
    "the repository's address": (
        r"github\.com/([\w.-]+/(?:llm-)?emulator)(?![\w-])",
        {SLUG},
    ),
    "the image's name": (r"ghcr\.io/([\w.-]+/[\w.-]*emulator[\w-]*)", {SLUG}),
    "the image's version": (rf"ghcr\.io/{SLUG}:([\w.-]+)", {emulator.__version__}),
    "the action's version": (rf"uses: [\"']?{SLUG}@([\w.-]+)", {f"v{emulator.__version__}"}),
    "the hook's version": (rf"{SLUG}\n +rev: ([\w.-]+)", {f"v{emulator.__version__}"}),
    "the version of a build": (r"(?m)^ARG VERSION=(\S+)", {emulator.__version__}),
    "no placeholder": (r"\b(OWNER)/", set()),
}


def find_others(texts: dict[str, str], pattern: str, same: set[str]) -> list[str]:
    """Return one line for each place with another name."""
    return [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1} {found[0]}"
        for name, text in texts.items()
        for found in re.finditer(pattern, text)
        if found[1] not in same
    ]


@pytest.mark.parametrize(("pattern", "same"), SAME.values(), ids=SAME)
def test_names_are_consistent(pattern: str, same: set[str]) -> None:
    assert not find_others(TEXTS, pattern, same)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("the repository's address", "source=https://github.com/OWNER/emulator"),
        ("the repository's address", "see https://github.com/another/llm-emulator/issues"),
        ("the image's name", "image: ghcr.io/another/llm-emulator:0.1.0"),
        ("the image's version", f"image: ghcr.io/{SLUG}:9.9.9"),
        ("the action's version", f"- uses: {SLUG}@v9.9.9"),
        ("the hook's version", f"  - repo: {REPOSITORY}\n    rev: v9.9.9"),
        ("the version of a build", "ARG VERSION=9.9.9"),
        ("no placeholder", "- uses: OWNER/emulator@v1"),
    ],
)
def test_divergent_name_is_found(kind: str, text: str) -> None:
    assert len(find_others({"file": text}, *SAME[kind])) == 1


def test_project_urls_begin_with_repository() -> None:
    assert set(URLS) == {"Homepage", "Repository", "Documentation", "Changelog", "Issues"}
    assert URLS["Changelog"] == f"{REPOSITORY}/blob/main/CHANGELOG.md"
    assert URLS["Issues"] == f"{REPOSITORY}/issues"


@pytest.mark.parametrize("file", ["SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"])
def test_vulnerabilities_are_reported_privately(file: str) -> None:
    assert f"{REPOSITORY}/security/advisories/new" in TEXTS[file]


def test_workflows_do_not_name_repository() -> None:
    named = [name for name, text in TEXTS.items() if name.startswith(".github/workflows/") and SLUG in text]
    assert not named


def test_version_is_stated_once() -> None:
    """In the package; what else has it is compared above, or is a text about that release."""
    stated = re.compile(rf'"{re.escape(emulator.__version__)}"')
    files = [name for name, text in TEXTS.items() if name.startswith("emulator/") and stated.search(text)]
    assert files == ["emulator/__init__.py"]
    assert re.search(r"^version = ", TEXTS["pyproject.toml"], re.MULTILINE) is None
