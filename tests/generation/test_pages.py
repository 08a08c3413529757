"""Every page is found by its key, in the files of the package and in one with blanks, tabs and line feeds."""

from pathlib import Path

import pytest

from emulator.generation.further_pieces import PAGES
from emulator.generation.pages import Pages, find_key, list_pieces, render_pages
from emulator.generation.vocabulary import VOCABULARY

PIECES = {
    " ": "0",
    "  ": "5 6",
    "\t\t": "1",
    "\r\n": "2",
    "\n\n": "3",
    "a\tb": "4",
    "\u00e9\u00e9": "7",
    "中文": "8",
}


@pytest.mark.parametrize("path", [VOCABULARY, PAGES], ids=lambda path: path.stem)
def test_pages_are_found_by_their_keys(path: Path) -> None:
    pages = Pages(path)
    listed = dict(pages)
    assert len(listed) > 1000
    for key, cells in listed.items():
        assert pages.find(key) == cells
        assert {find_key(piece) for piece in cells[::2]} == {key}
    assert all(pages.find(key) == [] for key in ("", "\0", "\U0010ffff", " zzz", "\ud800", "\ue000"))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_pages_return_the_pieces_that_were_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "pages.tsv"
    path.write_bytes(render_pages({"sizes": {}}, PIECES).replace("\n", ending).encode())
    pages = Pages(path)
    assert {piece: pages.find(find_key(piece)) for piece in PIECES} == {p: [p, n] for p, n in PIECES.items()}
    assert [list_pieces(pages, 9)[number] for number in (0, 4, 6, 8)] == [" ", "a\tb", "  ", "中文"]
