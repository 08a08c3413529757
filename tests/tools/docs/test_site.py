"""What the site is built of; ``.ci/site`` builds it."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.tools.docs import site

DOCS = site.DOCS


def test_navigation_lists_every_page_once() -> None:
    names = [name for entry in site.find_order() for pages in entry.values() for name in find_names(pages)]
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert sorted(names) == sorted({*pages, site.FIRST, site.ORDER, site.REPOSITORY})


def find_names(pages: str | list[dict[str, str]]) -> list[str]:
    return [pages] if isinstance(pages, str) else [name for page in pages for name in page.values()]


def test_every_page_has_title() -> None:
    assert all(site.find_title(page) for page in DOCS.glob("*.md"))
    assert site.find_title(DOCS / "tutorial.md") == "Tutorial"
    assert site.find_title(DOCS / "reference.md") == "The scenario language"  # below a comment


@pytest.mark.parametrize(
    ("page", "link", "becomes"),
    [
        (site.ROOT / "README.md", "docs/clients.md", "clients.md"),
        (site.ROOT / "README.md", "docs/images/console.png", "images/console.png"),
        (site.ROOT / "README.md", "CONTRIBUTING.md", f"{site.REPOSITORY}/blob/main/CONTRIBUTING.md"),
        (DOCS / "README.md", "../README.md", "index.md"),
        (DOCS / "README.md", "examples", f"{site.REPOSITORY}/tree/main/docs/examples"),
        (DOCS / "testing.md", "../README.md#scenarios", "index.md#scenarios"),
        (DOCS / "ci.md", "ci/compose.yaml", f"{site.REPOSITORY}/blob/main/docs/ci/compose.yaml"),
    ],
)
def test_site_links_point_to_same_targets(page: Path, link: str, becomes: str) -> None:
    assert f"]({link})" in page.read_text(encoding="utf-8")
    rendered = site.render(page)
    assert f"]({becomes})" in rendered
    assert f"]({link})" not in rendered


def test_rendering_leaves_code_blocks_unchanged() -> None:
    fence = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    for page in DOCS.glob("*.md"):
        assert fence.findall(site.render(page)) == fence.findall(page.read_text(encoding="utf-8"))


def test_link_to_missing_file_raises(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[there](nowhere.md)", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=re.escape("nowhere.md")):
        site.render(page)


def test_stage_copies_pages_styles_and_images(tmp_path: Path) -> None:
    configuration = site.stage(tmp_path)
    pages = tmp_path / site.CONFIGURATION["docs_dir"]
    assert {page.name for page in pages.glob("*.md")} == {page.name for page in DOCS.glob("*.md")} - {"README.md"} | {
        site.FIRST,
        site.ORDER,
    }
    assert (pages / "site.css").is_file()
    assert (pages / "images" / "console.png").is_file()
    assert "slugify: !!python" in configuration.read_text(encoding="utf-8").replace('"', "")


def test_site_builder_is_pinned() -> None:
    project = tomllib.loads((site.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (builder,) = project["dependency-groups"]["docs"]
    assert re.fullmatch(r"zensical==[\d.]+", builder)
