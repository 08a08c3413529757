"""Writes the vocabulary anew from lists of words: ``python -m tests.tools.vocabulary.make``.

A piece's rank is its id in every tokenizer, so a change to one list is a change to every answer.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from emulator.generation.pages import render_pages
from emulator.generation.vocabulary import VOCABULARY

_CAPITALISED = 2000  # as many of the most common English words also begin a sentence

_PUNCTUATION = """
{" "} ": ":" "," ", {} [] [{ }] {{ }} "] ["  "}] "}, ]} }} }, ], ]; }; {" [" () (" ") (' ') (): ); )) )( ), ). ():
() () => -> <- == != <= >= === !== && || ++ -- += -= *= /= // /* */ ** :: := .. ... ./ ../ "/ "/> /> </ <!-- --> ://
'' "" `` ``` ''' \"\"\" '] [' ', ": ', '" "' ." ," ?" !" .' ,' ?! !! !!! ?? ??? .) ,) ?) !) ." ;; :: -- --- ---- -----
*** ___ ## ### #### ##### ~~ ~~~ *** **** ||| \\n \\" \\\\ \\u %s %d {% %} #{ ${ $( @@ <% %> <? ?> #!
– — “ ” ‘ ’ … « » „ ‚ ‹ › · • † ‡ § ¶ © ® ™ ° ± × ÷ ≤ ≥ ≠ ≈ ∞ → ← ↑ ↓ ⇒ € £ ¥ ¢ ✓ ✗ ★ ■ ● ○ ▪ ─ │ ░ █
"""
_SCRIPTS = (
    *(range(0xA1, 0x180), range(0x370, 0x460), range(0x2010, 0x2028), range(0x20A0, 0x20C0)),
    *(range(0x3000, 0x3020), range(0x3041, 0x3100), range(0xFF01, 0xFF5F)),
)


def list_pieces() -> list[str]:
    """Every piece by rank."""
    return [*dict.fromkeys(chain(_list_symbols(), _list_words(), _list_chunks()))]


def render() -> str:
    """The file: pages of pieces with their ranks, without repetition."""
    pieces = list_pieces()
    ranks = {piece: str(rank) for rank, piece in enumerate(pieces)}
    return render_pages({"sizes": {"vocabulary": len(pieces)}}, ranks)


def _list_symbols() -> Iterator[str]:
    yield from map(chr, range(0x20, 0x7F))
    for letter in map(chr, range(0x41, 0x7B)):
        if letter.isalpha():
            yield " " + letter
    for mark in _PUNCTUATION.split():
        yield mark
        yield " " + mark
    yield from (" " + chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum())
    for character, longest in ((" ", 32), ("\t", 8), ("\n", 4), ("=", 8), ("-", 8), ("*", 8), ("#", 8), ("_", 4)):
        yield from (character * length for length in range(2, longest + 1))
    yield from ("\r\n", "\r\n\r\n", " \n", "  \n")
    yield from (mark + "\n" for mark in (";", ",", "{", "}", "(", ")", "):", ":", "[", "],", "},", ");"))
    yield from (f"{number:0{digits}}" for digits in (1, 2, 3) for number in range(10**digits))
    yield from map(chr, chain.from_iterable(_SCRIPTS))


def _list_words() -> Iterator[str]:
    chinese = _read("chinese")
    yield from chinese
    yield from "".join(chinese)
    for rank, word in enumerate(_read("english")):
        yield " " + word
        yield word
        if rank < _CAPITALISED:
            yield " " + word.capitalize()
            yield word.capitalize()
    for word in chain(_read("names"), _read("german")):
        yield " " + word
        yield word


def _list_chunks() -> Iterator[str]:
    for start in _read("starts"):
        yield " " + start
        yield " " + start.capitalize()
        yield start.capitalize()
    yield from _read("chunks")


def _read(name: str) -> list[str]:
    return Path(__file__).with_name(f"{name}.txt").read_text("utf-8").split()


if __name__ == "__main__":
    VOCABULARY.write_text(render(), encoding="utf-8", newline="\n")
