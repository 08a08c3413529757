"""Generate strings that satisfy patterns, formats and lengths of a shape together.

``build.py`` calls it for each string of an instance.
"""

from collections.abc import Iterator
from random import Random

from emulator.core.json import as_text
from emulator.core.rng import derive_key, draw_integer
from emulator.generation.json_schema.formats import conforms
from emulator.generation.json_schema.keywords import listed_values
from emulator.generation.json_schema.shape import Shape, Style
from emulator.generation.json_schema.values import FORMAT_PATTERNS, format_text, plain_word, text_for
from emulator.generation.regex.match import matches
from emulator.generation.regex.parse import parse_pattern
from emulator.generation.regex.sample import PatternSampler, shortest
from emulator.generation.regex.search import find_text
from emulator.generation.step_budget import StepBudget, Unsatisfiable

_STRETCHES = (1.0, 1.0, 0.0, 0.5, 2.0, 4.0, 0.0, 8.0)
_HOSTILE = (
    "", " ", "null", "0", "-1", "true", "<script>alert(1)</script>", "' OR 1=1 --", '"; DROP TABLE users; --',
    "../../etc/passwd", "${jndi:ldap://x}", "{{7*7}}", "%s%n", "line one\nline two", "tab\there", "back\\slash",
    "naïve café", "日本語テキスト", "🦊🏳️‍🌈", "مرحبا", "\u202eevil", "a\u0301e\u0301", "\u200b", "\ufeff", "𝕏",
)  # fmt: skip


def write_string(shape: Shape, name: str, key: bytes, style: Style, budget: StepBudget) -> str | None:
    """Generate a string of the shape; return ``None`` if none was found."""
    budget.fill(shape.length.low)
    ruled_out, unwanted = _ruled_out(shape), _unwanted(shape)
    budget.spend(80 + len(ruled_out) // 4)
    for candidate in _candidates(shape, name, key, style, budget):
        fitted = _fit(candidate, shape) if not shape.formats and not shape.patterns else candidate
        if fitted not in ruled_out and _meets(fitted, shape, unwanted, budget):
            return _filled(fitted, budget)
    if not (shape.patterns or shape.formats or unwanted or ruled_out):
        return None
    for taken in ruled_out:
        budget.spend(20 * len(taken))
        unwanted.append(f"^{literal(taken)}$")
    low, high = shape.length
    wanted = [*shape.patterns, *(FORMAT_PATTERNS[name] for name in shape.formats if name in FORMAT_PATTERNS)]
    text = find_text(wanted, unwanted, low, high, random_of(key), budget)
    return _filled(text, budget) if text is not None and _meets(text, shape, unwanted, budget) else None


def _filled(text: str, budget: StepBudget) -> str:
    budget.fill(len(text))
    return text


def random_of(key: bytes) -> Random:
    """Return a generator for one text; only its ``random()`` is the same in every Python version."""
    return Random(int.from_bytes(key[:8], "big"))


def _unwanted(shape: Shape) -> list[str]:
    """Return the patterns that the string must not match."""
    return [as_text(node.keywords["pattern"]) for node in shape.exclusions if "pattern" in node.keywords]


def _ruled_out(shape: Shape) -> dict[str, None]:
    """Return the excluded texts, in order."""
    values = [value for node in shape.exclusions for value in listed_values(node.keywords)]
    return dict.fromkeys(value for value in values if isinstance(value, str))


def literal(text: str) -> str:
    """Return the pattern that matches exactly this text."""
    return "".join(f"\\u{{{ord(char):x}}}" for char in text)


def _meets(text: str, shape: Shape, unwanted: list[str], budget: StepBudget) -> bool:
    low, high = shape.length
    if len(text) < low or (high is not None and len(text) > high):
        return False
    if not all(conforms(name, text) for name in shape.formats):
        return False
    if not all(matches(pattern, text, budget) for pattern in shape.patterns):
        return False
    return not any(matches(pattern, text, budget) for pattern in unwanted)


def _candidates(shape: Shape, name: str, key: bytes, style: Style, budget: StepBudget) -> Iterator[str]:
    if shape.patterns:
        if style.hints:
            yield text_for(name, key) if name and not shape.formats else ""
        yield from _of_formats(shape, key)
        yield from _of_patterns(shape, key, budget)
        return
    yield from _of_formats(shape, key)
    if style.hostile:
        yield _HOSTILE[draw_integer(key, len(_HOSTILE), "hostile")]
    if style.extreme:
        low, high = shape.length
        yield "x" * (high if high is not None and high <= 4096 and derive_key(key, "end")[0] % 2 else low)
    if not style.hints:
        yield "x" * shape.length.low
    for attempt in range(4):
        yield text_for(name, derive_key(key, attempt) if attempt else key)


def _of_formats(shape: Shape, key: bytes) -> Iterator[str]:
    for name in shape.formats:
        for attempt in range(8):
            text = format_text(name, derive_key(key, name, attempt))
            if text is not None:
                yield _lengthened(name, text, shape.length.low)


def _lengthened(name: str, text: str, low: int) -> str:
    """Extend the path of a URI, or the local part of an email address, to a minimum length."""
    missing = low - len(text)
    if missing <= 0:
        return text
    if name in ("uri", "url", "iri", "uri-reference", "iri-reference"):
        return text.rstrip("/") + "/" + "a" * missing
    return "a" * missing + text if name in ("email", "idn-email") else text


def _of_patterns(shape: Shape, key: bytes, budget: StepBudget) -> Iterator[str]:
    for pattern in shape.patterns:
        tree = parse_pattern(pattern)
        if shortest(tree) > (budget.size if shape.length.high is None else shape.length.high):
            raise Unsatisfiable(f"no text of {pattern!r} is short enough")
        for attempt, stretch in enumerate(_STRETCHES * 2):
            text = PatternSampler(random_of(derive_key(key, pattern, attempt)), budget, stretch).text(tree)
            if attempt == 0 and not pattern.endswith("$"):
                yield text + plain_word(key)
            yield text
            if len(text) < shape.length.low:
                yield _pad(text, shape.length.low)


def _fit(text: str, shape: Shape) -> str:
    """Return the text padded or truncated to the bounds, between words where possible."""
    low, high = shape.length
    if len(text) < low:
        text = _pad(text, low) if text else "x" * low
    if high is not None and len(text) > high:
        cut = text[:high].rpartition(" ")[0].rstrip(" ,.")
        text = cut if cut and len(cut) >= low else text[:high]
    return text


def _pad(text: str, low: int) -> str:
    if not text:
        return ""
    return (text + " " + text * (low // len(text)))[:low]
