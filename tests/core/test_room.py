"""How much is kept of what was found out."""

from emulator.core.room import Roomy


def test_what_is_known_is_not_found_out_again() -> None:
    asked: list[str] = []

    def measure(text: str) -> int:
        asked.append(text)
        return len(text)

    sizes = Roomy(measure, lambda text, size: size, 10)
    assert [sizes["abc"], sizes["abc"], sizes["de"]] == [3, 3, 2]
    assert (asked, sizes.held) == (["abc", "de"], 5)


def test_everything_is_forgotten_once_there_is_no_room() -> None:
    sizes = Roomy(str.__len__, lambda text, size: size, 10)
    for text in ("four", "five!", "six"):
        assert sizes[text] == len(text)
    assert (dict(sizes), sizes.held) == ({"six": 3}, 3)
    sizes.charge(8)
    assert (dict(sizes), sizes.held) == ({}, 8)
