"""Detect the language of a prompt from its script and its function words, so that generated prose answers in it."""

import re
from collections.abc import Sequence
from struct import Struct

from emulator.core.cache import BoundedCache

_LOOK_AT = 2000  # characters
ENGLISH = "en_US"

_WORDS = {
    "en_US": """the of and to a in is that it for you with as are this be at have from or was by not but what all can
        how why when where who which do does did your my me i we they he she there their would could should
        please will an if about tell explain write give hello hi thanks summarize list describe""",
    "de_DE": """der die das und ist nicht ein eine einen einem einer mit von zu den dem des auf für sich auch wie was
        warum wer wo wann bitte ich du er sie es wir ihr mir mich dir kann können im am vom zum zur hallo
        danke erkläre schreibe nenne gib aber oder wenn wird sind hat haben über""",
    "fr_FR": """le la les des une est et que qui pour dans pas sur avec vous nous je tu il elle ce cette sont mais ou
        du au aux comment pourquoi quel quelle quelles bonjour merci écris explique donne moi ne en un de s'il
        plaît""",
    "es_ES": """el la los las una es y que por para con en un del al se lo como más pero su sus qué cómo cuál dónde
        cuándo hola gracias escribe explica dame yo usted este esta está son muy de""",
    "it_IT": """il lo la gli le una è e che per con di non un del della dei delle sono come perché cosa quale ciao
        grazie scrivi spiega dammi io questo questa nel nella alla anche più si mi""",
    "pt_BR": """o os as uma é e que para com não em um do da dos das no na como por mais mas você eu qual quais olá
        obrigado escreva explique me ele ela isso este esta está são muito de""",
    "nl_NL": """de het een en is niet van ik je dat die in op te zijn met voor wat hoe waarom wie waar wanneer hallo
        dank schrijf geef leg uit mij u wij deze dit ook aan als er maar om naar bij kan""",
    "pl_PL": """i w nie na się jest to że z do jak co o po za od dla czy ale przez tak jaki jaka jakie dlaczego gdzie
        kiedy cześć dziękuję napisz wyjaśnij podaj mi mnie są jestem proszę""",
}
_SCRIPTS = (
    ("ja_JP", re.compile("[\u3041-\u30ff]")),
    ("ko_KR", re.compile("[\uac00-\ud7a3]")),
    ("zh_CN", re.compile("[\u4e00-\u9fff]")),
    ("ru_RU", re.compile("[\u0400-\u045f]")),
)
LOCALES = (*_WORDS, *(locale for locale, _ in _SCRIPTS))
_LATIN_WORD = re.compile(r"[a-zß-ÿąćęłńśźż']+")

# The votes of a word are one number, so that those of a text are the sum of its words. Its fields, of 16 bits each:
# votes for each locale that has a list of words, then Latin letters, then letters of each script.
_BITS = 16
_LATIN = len(_WORDS)
_UNPACK = Struct(f"<{_LATIN + 1 + len(_SCRIPTS)}H").unpack
_PACKED = (_LATIN + 1 + len(_SCRIPTS)) * 2  # bytes
_NO_SCRIPT = (0,) * len(_SCRIPTS)
_MAX_WORD = 64  # characters


FUNCTION_WORDS = frozenset(word for words in _WORDS.values() for word in words.split())


def _index_words() -> dict[str, tuple[int, ...]]:
    index: dict[str, tuple[int, ...]] = {}
    for field, words in enumerate(_WORDS.values()):
        for word in dict.fromkeys(words.split()):
            index[word] = (*index.get(word, ()), field)
    return index


_FIELDS_OF = _index_words()


class _Tallies(BoundedCache[str, int]):
    """Cache of the languages that each word indicates; empties itself beyond a maximum."""

    max_entries = 1 << 13

    def __missing__(self, word: str) -> int:
        tally = _tally(word)
        return self.keep(word, tally) if len(word) <= _MAX_WORD else tally


def _tally(word: str) -> int:
    tally = 0
    for latin in _LATIN_WORD.findall(word.lower()):
        tally += len(latin) << _LATIN * _BITS
        for field in _FIELDS_OF.get(latin, ()):
            tally += 1 << field * _BITS
    if not word.isascii():
        for field, (_, script) in enumerate(_SCRIPTS, _LATIN + 1):
            tally += len(script.findall(word)) << field * _BITS
    return tally


_tally_of = _Tallies().__getitem__


def lean(word: str) -> int:
    """Return the number of function words of English alone, minus that of function words of other languages alone."""
    known = [_FIELDS_OF[latin] for latin in _LATIN_WORD.findall(word.lower()) if latin in _FIELDS_OF]
    return sum([1 if fields == (0,) else -(0 not in fields) for fields in known])


def judge_language(text: str, leaning: int) -> str:
    """Return :func:`detect_language` of a text with a given sum of :func:`lean`; fast for English ASCII."""
    if leaning >= 0 and len(text) <= _LOOK_AT and text.isascii():
        return ENGLISH  # no locale has more votes, and there are no other scripts
    return detect_language(text)


def detect_language(text: str) -> str:
    """Return the locale of a text, one of :data:`LOCALES`; ``en_US`` without evidence.

    Examines the beginning only. A distinctive script decides if it makes up a fifth of the letters:
    a foreign name in an English sentence does not. Of locales with equal counts the one with the earliest word wins,
    save English, which wins every tie.
    """
    words = text[:_LOOK_AT].split()
    votes = _UNPACK(sum(map(_tally_of, words)).to_bytes(_PACKED, "little"))
    if votes[_LATIN + 1 :] != _NO_SCRIPT:
        for (locale, _), found in zip(_SCRIPTS, votes[_LATIN + 1 :], strict=True):
            if found and found * 4 >= votes[_LATIN]:
                return locale
    votes = votes[:_LATIN]
    most = max(votes)
    return ENGLISH if votes[0] == most else _choose_locale(votes, most, words)


def _choose_locale(votes: Sequence[int], most: int, words: Sequence[str]) -> str:
    best = [LOCALES[field] for field, count in enumerate(votes) if count == most]
    if len(best) > 1:
        for word in words:
            for latin in _LATIN_WORD.findall(word.lower()):
                for field in _FIELDS_OF.get(latin, ()):
                    if LOCALES[field] in best:
                        return LOCALES[field]
    return best[0]
