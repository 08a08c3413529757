"""How far the built-in tokenizer profiles are from real vocabularies: ``python -m tests.tools.tokens`` prints a table.

The vocabularies are those of installed packages: litellm, mistral-common, llama-models, dashscope.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, quantiles

from emulator.generation.language import LOCALES
from emulator.generation.text import load_prose
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.vocabulary_files import VocabularyError

ROOT = Path(__file__).parent.parent.parent
PAIRS = (
    *(("gpt", "o200k_base"), ("gpt", "cl100k_base"), ("claude", "anthropic"), ("mistral", "mistral-v3")),
    *(("mistral", "tekken"), ("llama3", "llama-3"), ("qwen2", "qwen-2")),
)
_SIZE = 800  # characters of a text
_EMOJI = "🙂🙂 great 👍👍🏽 party 🎉🎉 ❤️ 🔥 "


def _cut(path: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")[: 50 * _SIZE]
    return [text[at : at + _SIZE] for at in range(0, len(text), _SIZE)]


def collect_texts() -> Mapping[str, Sequence[str]]:
    """Return texts by kind."""
    kinds: dict[str, Sequence[str]] = {}
    for locale in LOCALES:
        prose = load_prose(locale)
        sentences = prose.sentences[:250]
        kinds[locale] = [prose.separator.join(sentences[at : at + 5]) for at in range(0, len(sentences), 5)]
    kinds["Python"] = _cut("emulator/http/connection.py")
    kinds["JSON"] = _cut("scenarios/schema.json")
    kinds["HTML and JavaScript"] = _cut("emulator/control/console/console.html")
    kinds["Markdown"] = _cut("docs/explanation.md")
    kinds["emoji"] = [_EMOJI * count for count in range(1, 9)]
    return kinds


def measure(profile: str, vocabulary: str, texts: Sequence[str]) -> tuple[float, float]:
    """Return the mean error of the count and the 95th percentile of its size, as shares of the real count."""
    ours, real = tokenizer_for(profile), tokenizer_for(vocabulary)
    errors = [ours.count(text) / real.count(text) - 1 for text in texts if real.count(text)]
    sizes = [abs(error) for error in errors]
    return mean(errors), quantiles(sizes, n=20)[-1] if len(sizes) > 1 else sizes[0]


def render() -> Iterator[str]:
    """Yield the lines of the table."""
    pairs = []
    for profile, vocabulary in PAIRS:
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


if __name__ == "__main__":
    print("\n".join(render()))
