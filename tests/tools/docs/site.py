"""The site: README and docs as pages of Zensical, ``python -m tests.tools.docs.site FOLDER``.

README is the first page and docs/README.md gives the order of the others. A link to a file that is no page leads to the
repository. The build is strict: a link or an anchor that leads nowhere fails it. No page loads anything from elsewhere.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent.parent
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
OWNER, NAME = REPOSITORY.split("/")[-2:]
FIRST, ORDER = "index.md", "contents.md"
CONFIGURATION: dict[str, Any] = {  # without repo_url, for which each page would ask GitHub how many stars there are
    "site_name": "emulator",
    "site_url": f"https://{OWNER}.github.io/{NAME}/",
    "site_description": PROJECT["description"],
    "extra": {"social": [{"icon": "fontawesome/brands/github", "link": REPOSITORY, "name": "Repository"}]},
    "docs_dir": "pages",
    "site_dir": "site",
    "extra_css": ["site.css"],
    "theme": {
        "language": "en",
        "font": False,
        "features": ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight", "toc.follow"],
        "palette": [
            {
                "media": f"(prefers-color-scheme: {scheme})",
                "scheme": {"light": "default", "dark": "slate"}[scheme],
                "toggle": {"icon": icon, "name": name},
            }
            for scheme, icon, name in (
                ("light", "lucide/sun", "Switch to dark mode"),
                ("dark", "lucide/moon", "Switch to light mode"),
            )
        ],
    },
    "markdown_extensions": [
        "attr_list",
        "tables",
        {"toc": {"permalink": True, "slugify": "SLUGIFY"}},
        {"pymdownx.highlight": {"anchor_linenums": False}},
        "pymdownx.inlinehilite",
        "pymdownx.superfences",
    ],
}
STYLE = """.md-grid { max-width: 72rem; }
.md-typeset table:not([class]) { font-size: .7rem; }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { min-width: 5rem; padding: .5em .8em; }
.md-typeset td code { word-break: normal; overflow-wrap: break-word; }
.md-typeset table:not([class]) th:empty { padding: 0; }
"""
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def name_page(file: Path) -> str | None:
    """Where a file is on the site; ``None``: it is no page."""
    if file == ROOT / "README.md":
        return FIRST
    if file == DOCS / "README.md":
        return ORDER
    inside = file.is_relative_to(DOCS) and file.suffix in (".md", ".png")
    return file.relative_to(DOCS).as_posix() if inside else None


def render(page: Path) -> str:
    """A page with its links as they are on the site.

    Raises:
        FileNotFoundError: a link leads to no file.
    """

    def aim(link: re.Match[str]) -> str:
        file = (page.parent / link[1]).resolve(strict=True)
        name = name_page(file)
        kind = "tree" if file.is_dir() else "blob"
        return (name or f"{REPOSITORY}/{kind}/main/{file.relative_to(ROOT).as_posix()}") + (link[2] or "")

    text = page.read_text(encoding="utf-8")
    blocks = _BLOCK.findall(text)
    prose = [_LINK.sub(aim, part) for part in _BLOCK.split(text)]
    return "".join(part + block for part, block in zip(prose, [*blocks, ""], strict=True))


def find_order() -> list[Any]:
    """The navigation: README, then the sections of docs/README.md with their pages, titled as the pages are."""
    sections: list[Any] = [{"Home": FIRST}]
    for part in re.split(r"^## ", (DOCS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        pages = re.findall(r"^\| \[([\w-]+\.md)\]\(\1\)", part, re.MULTILINE)
        sections.append({part.partition("\n")[0]: [{find_title(DOCS / page): page} for page in pages]})
    return [*sections, {"All pages": ORDER}, {"Repository": REPOSITORY}]


def find_title(page: Path) -> str:
    """Return the page's heading, short enough for a list: to its first colon or comma."""
    (title,) = re.findall(r"^# ([^:,\n]+)", page.read_text(encoding="utf-8"), re.MULTILINE)[:1]
    return str(title)


def stage(folder: Path) -> Path:
    """Write what Zensical reads; its configuration is returned."""
    pages = folder / "pages"
    for file in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]:
        target = pages / (name_page(file) or "")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(render(file), encoding="utf-8")
    shutil.copytree(DOCS / "images", pages / "images")
    (pages / "site.css").write_text(STYLE, encoding="utf-8")
    configuration = folder / "mkdocs.yml"
    text = json.dumps({**CONFIGURATION, "nav": find_order()}, indent=1)
    slugify = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
    configuration.write_text(text.replace('"SLUGIFY"', slugify), encoding="utf-8")
    return configuration


def main(target: Path) -> int:
    """Build the site into a folder, which is made anew."""
    with tempfile.TemporaryDirectory() as name:
        configuration = stage(Path(name))
        zensical = (sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(configuration))
        built = subprocess.run(zensical, cwd=name, check=False)
        if built.returncode == 0:
            shutil.rmtree(target, ignore_errors=True)
            shutil.move(Path(name) / "site", target)
    return built.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
