"""The pieces of text a token can stand for, most common first.

Every list is static, so a piece has the same rank, and so the same id, in every process.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path

_CAPITALISED = 2000  # as many of the most common English words also begin a sentence

_PUNCTUATION = """
{" "} ": ":" "," ", {} [] [{ }] {{ }} "] ["  "}] "}, ]} }} }, ], ]; }; {" [" () (" ") (' ') (): ); )) )( ), ). ():
() () => -> <- == != <= >= === !== && || ++ -- += -= *= /= // /* */ ** :: := .. ... ./ ../ "/ "/> /> </ <!-- --> ://
'' "" `` ``` ''' \"\"\" '] [' ', ": ', '" "' ." ," ?" !" .' ,' ?! !! !!! ?? ??? .) ,) ?) !) ." ;; :: -- --- ---- -----
*** ___ ## ### #### ##### ~~ ~~~ *** **** ||| \\n \\" \\\\ \\u %s %d {% %} #{ ${ $( @@ <% %> <? ?> #!
– — “ ” ‘ ’ … « » „ ‚ ‹ › · • † ‡ § ¶ © ® ™ ° ± × ÷ ≤ ≥ ≠ ≈ ∞ → ← ↑ ↓ ⇒ € £ ¥ ¢ ✓ ✗ ★ ■ ● ○ ▪ ─ │ ░ █
"""
_CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'VE 'M 'LL 'D"
_SCRIPTS = (
    *(range(0xA1, 0x180), range(0x370, 0x460), range(0x2010, 0x2028), range(0x20A0, 0x20C0)),
    *(range(0x3000, 0x3020), range(0x3041, 0x3100), range(0xFF01, 0xFF5F)),
)
_MORE_SCRIPTS = (range(0x5D0, 0x5EB), range(0x621, 0x653))

CJK_IDEOGRAPHS = range(0x4E00, 0xA000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)


@cache
def load_pieces() -> tuple[str, ...]:
    """Every piece a vocabulary of any size holds, without repetition."""
    return tuple(dict.fromkeys(chain(_list_symbols(), _list_words(), _list_chunks())))


@cache
def load_scripts() -> tuple[str, ...]:
    """What only a large vocabulary holds, beside ideographs and Hangul: Hebrew, Arabic, Cyrillic syllables."""
    syllables = [consonant + vowel for consonant in "бвгджзйклмнпрстфхцчшщ" for vowel in "аеиоуыьюяё"]
    return (*syllables, *map(chr, chain.from_iterable(_MORE_SCRIPTS)))


@cache
def load_contractions() -> tuple[str, ...]:
    """The endings English writes with an apostrophe."""
    return tuple(_CONTRACTIONS.split())


def measure_longest(more: Iterable[str] = ()) -> Mapping[str, int]:
    """By their first three characters, the length of the longest piece of the list or of ``more``.

    What no piece of three characters begins like has pieces of two characters at most.
    """
    longest = _measure_pieces()
    beyond = {piece[:3]: len(piece) for piece in sorted(more, key=len) if len(piece) > longest.get(piece[:3], 0)}
    return {**longest, **beyond} if beyond else longest


@cache
def _measure_pieces() -> Mapping[str, int]:
    pieces = sorted(load_pieces(), key=len)
    return dict(zip(map(itemgetter(slice(3)), pieces), map(len, pieces), strict=True))


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
