"""Files that pages show whole: ``[`ci/compose.yaml`](ci/compose.yaml)`` and the block below it, which is that file."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent.parent / "docs"
_SHOWN = re.compile(r"^(\[`(?P<file>[\w./-]+)`\]\((?P=file)\)\n\n```\w*\n).*?^```$", re.MULTILINE | re.DOTALL)
PAGES = (DOCS / "ci.md",)


def find_files(page: Path) -> list[Path]:
    """The files that a page shows, in order."""
    return [page.parent / shown["file"] for shown in _SHOWN.finditer(page.read_text(encoding="utf-8"))]


def render(page: Path) -> str:
    """The page with each of its files as the file is now."""

    def include(shown: re.Match[str]) -> str:
        return shown[1] + (page.parent / shown["file"]).read_text(encoding="utf-8") + "```"

    return _SHOWN.sub(include, page.read_text(encoding="utf-8"))
