"""How far the built-in tokenizer profiles are from real vocabularies: ``python -m tests.tools.tokens`` prints a table.

The vocabularies are those of installed packages: litellm, mistral-common, llama-models, dashscope. With ``--fit FILE``
it first finds how many further pieces each profile needs so that its mean error is 0, from texts by kind in a file,
and writes them into the package. The table has other texts.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, quantiles

import orjson

from emulator.generation.further_pieces import COMMON_PREFIX, LIMITS, load_limits, load_pages
from emulator.generation.language import LOCALES
from emulator.generation.text import load_prose
from emulator.generation.tokenizer import ProfileTokenizer, tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES
from emulator.generation.vocabulary_files import VocabularyError

ROOT = Path(__file__).parent.parent.parent
TEXTS = Path(__file__).with_name("texts")
REAL = {"gpt": "o200k_base", "claude": "anthropic", "mistral": "mistral-v3", "llama3": "llama-3", "qwen2": "qwen-2"}
_SIZE = 800  # characters of a text of code
_CODE = {
    "Python": ("emulator/http/connection.py", "emulator/scenario/models.py", "emulator/generation/text.py"),
    "HTML and JavaScript": ("emulator/control/console/console.html",),
    "Markdown": ("docs/explanation.md", "docs/operating.md", "docs/faults.md"),
}

# Which kinds of texts decide how many pieces of a list a profile has; those of a locale its own texts.
_PROGRAMS = ("Python", "JavaScript", "HTML", "Markdown")
_DECIDED_BY = {"marks": (*_PROGRAMS, "JSON"), "names": ("Python",), "words": _PROGRAMS, "emoji": ("emoji",)}
_ROUNDS = 2
_STEP = 16  # pieces
_RECKONED = 20  # steps


def collect_texts() -> Mapping[str, Sequence[str]]:
    """Return texts by kind: prose of each locale, emoji and JSON written for this, and code of the project."""
    kinds = {kind: _read(kind) for kind in (*LOCALES, "emoji", "JSON")}
    return kinds | {kind: [text for path in paths for text in _cut(path)] for kind, paths in _CODE.items()}


def _read(kind: str) -> Sequence[str]:
    lines = (TEXTS / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace(r"\n", "\n") for line in lines]


def _cut(path: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")[: 30 * _SIZE]
    return [text[at : at + _SIZE] for at in range(0, len(text), _SIZE)]


def measure(profile: str, vocabulary: str, texts: Sequence[str]) -> tuple[float, float]:
    """Return the mean error of the count and the 95th percentile of its size, as shares of the real count."""
    ours, real = tokenizer_for(profile), tokenizer_for(vocabulary)
    errors = [ours.count(text) / real.count(text) - 1 for text in texts if real.count(text)]
    sizes = [abs(error) for error in errors]
    return mean(errors), quantiles(sizes, n=20, method="inclusive")[-1] if len(sizes) > 1 else sizes[0]


def render() -> Iterator[str]:
    """Yield the lines of the table."""
    pairs = []
    for profile, vocabulary in REAL.items():
        try:
            tokenizer_for(vocabulary)
            pairs.append((profile, vocabulary))
        except VocabularyError as error:
            yield f"<!-- {error} -->"
    yield f"| text | {' | '.join(f'`{profile}` against `{vocabulary}`' for profile, vocabulary in pairs)} |"
    yield f"| --- |{' --- |' * len(pairs)}"
    for kind, texts in collect_texts().items():
        cells = (measure(profile, vocabulary, texts) for profile, vocabulary in pairs)
        yield f"| {kind} | {' | '.join(f'{error:+.0%} ({p95:.0%})' for error, p95 in cells)} |"


class Fit:
    """Search for the limits of one profile."""

    def __init__(self, profile: str, texts: Mapping[str, Sequence[str]]) -> None:
        real = tokenizer_for(REAL[profile])
        self._profile = profile
        split = ProfileTokenizer(PROFILES[profile], {}).split
        self._words = {kind: [Counter(split(text)) for text in each] for kind, each in texts.items()}
        self._counts = {kind: [real.count(text) for text in each] for kind, each in texts.items()}
        pages = load_pages()
        self._sizes = {**pages.sizes, **{COMMON_PREFIX + locale: len(each) for locale, each in pages.common.items()}}
        # Where even single ideographs or syllables are too few tokens, the rare ones are several.
        short = [locale for locale in pages.common if PROFILES[profile].cjk and self.judge((locale,), {}) < 0]
        self._decided_by = {COMMON_PREFIX + locale: (locale,) for locale in short} | _DECIDED_BY
        self._decided_by |= {name: (name,) for name in pages.sizes if name not in _DECIDED_BY}

    def judge(self, kinds: Sequence[str], limits: Mapping[str, int]) -> float:
        """Return the mean error of kinds of texts."""
        cut = ProfileTokenizer(PROFILES[self._profile], limits or {"none": 0}).cut
        errors = []
        for kind in kinds:
            sizes = {word: len(cut(word)) for word in set().union(*self._words[kind])}
            for words, real in zip(self._words[kind], self._counts[kind], strict=True):
                errors.append(sum(sizes[word] * times for word, times in words.items()) / real - 1)
        return mean(errors)

    def search(self) -> Mapping[str, int]:
        """Return the limits with which the mean error of each kind is nearest to 0.

        Where the vocabulary has no room for so many pieces, the kinds with the largest error get them.
        """
        limits = {name: self._sizes[name] if name.startswith(COMMON_PREFIX) else 0 for name in self._decided_by}
        for number in range(_ROUNDS):
            for name in self._decided_by:
                self._bisect(name, limits, near=number > 0)
        if not self._fits(limits):
            limits |= {name: 0 for name in limits if not name.startswith(COMMON_PREFIX)}
            self._fill(limits)
        return limits

    def _bisect(self, name: str, limits: dict[str, int], *, near: bool) -> None:
        low, high = self._find_least(name), self._sizes[name]
        if near:  # what was found before
            low, high = max(low, limits[name] // 2), min(high, limits[name] * 8 // 5 + 60)
        while high - low > max(4, high // 60):
            limits[name] = (low + high) // 2
            if self.judge(self._decided_by[name], limits) > 0:
                low = limits[name]
            else:
                high = limits[name]
        limits[name] = high

    def _fill(self, limits: dict[str, int]) -> None:
        """Raise the limit of the worst kind, again and again."""
        errors = {name: 1.0 for name in limits if not name.startswith(COMMON_PREFIX)}
        for step in itertools.count():
            if not step % _RECKONED:  # what one kind has helps others
                errors = {name: self.judge(self._decided_by[name], limits) for name in errors}
            worst = max(errors, key=errors.__getitem__)
            more = min(self._sizes[worst], limits[worst] + max(_STEP, limits[worst] // 12))
            if errors[worst] <= 0 or not self._fits({**limits, worst: more}):
                return
            limits[worst] = more
            errors[worst] = self.judge(self._decided_by[worst], limits) if more < self._sizes[worst] else 0

    def _fits(self, limits: Mapping[str, int]) -> bool:
        count = sum(limit for name, limit in limits.items() if not name.startswith(COMMON_PREFIX))
        return count <= ProfileTokenizer(PROFILES[self._profile], limits).free_ids

    def _find_least(self, name: str) -> int:
        """Return the least limit: the characters of answers, which come first, are one token."""
        if not name.startswith(COMMON_PREFIX):
            return 0
        prose = load_prose(locale := name.removeprefix(COMMON_PREFIX))
        return len({*"".join((*prose.openers, *prose.sentences))}.intersection(load_pages().common[locale]))


def fit(texts: Mapping[str, Sequence[str]], profiles: Sequence[str]) -> None:
    """Write the limits of some profiles into the package."""
    found = {**load_limits()}
    for profile in profiles:
        found[profile] = Fit(profile, texts).search()
        lines = (f"{orjson.dumps(name).decode()}:{orjson.dumps(limits).decode()}" for name, limits in found.items())
        LIMITS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fit", metavar="FILE", type=Path, help="JSON: texts by kind")
    parser.add_argument("profiles", nargs="*", default=[*REAL], help="to fit (default all)")
    given = parser.parse_args()
    if given.fit:
        fit(orjson.loads(given.fit.read_bytes()), given.profiles)
    else:
        print("\n".join(render()))


if __name__ == "__main__":
    main()
