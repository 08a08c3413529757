"""Generate a text for an ECMA 262 pattern by keyed random choices along its syntax tree.

``json_schema/strings.py`` tries it first; ``search.py`` finds texts for several patterns at once.
"""

from random import Random

from emulator.generation.regex import charset
from emulator.generation.regex.parse import Alternation, Backreference, Chars, Group, Part, Repeat, Sequence
from emulator.generation.step_budget import StepBudget

_PLAIN = 12  # plausible maximum of repeated characters


class PatternSampler:
    """Generator of one text for a pattern.

    Ignores anchors and look-arounds; the caller checks the text.

    Args:
        stretch: 0 takes the fewest repeats, 1 a plausible number; more goes up to that many more.
    """

    def __init__(self, random: Random, budget: StepBudget, stretch: float) -> None:
        self._random = random
        self._budget = budget
        self._stretch = stretch
        self._groups: dict[int, str] = {}

    def below(self, count: int) -> int:
        return int(self._random.random() * count)

    def text(self, part: Part) -> str:
        self._budget.spend(5)
        if isinstance(part, Chars):
            return self._char(part.ranges)
        if isinstance(part, Sequence):
            return "".join([self.text(p) for p in part.parts])
        if isinstance(part, Alternation):
            return self.text(part.options[self.below(len(part.options))])
        if isinstance(part, Group):
            self._groups[part.number] = found = self.text(part.part)
            return found
        if isinstance(part, Repeat):
            return self._repeat(part)
        return self._groups.get(part.number, "") if isinstance(part, Backreference) else ""

    def _repeat(self, part: Repeat) -> str:
        count = self._count(part)
        self._budget.fill(count)
        if isinstance(part.part, Chars):
            self._budget.spend(count)
            return self._word(part.part.ranges, count)
        return "".join([self.text(part.part) for _ in range(count)])

    def _count(self, part: Repeat) -> int:
        most = _PLAIN if isinstance(part.part, Chars) else 2
        spread = int(most * self._stretch)
        if part.high is not None:
            spread = min(spread, part.high - part.low)
        return part.low + (self.below(spread + 1) if spread > 0 else 0)

    def _word(self, ranges: charset.Ranges, count: int) -> str:
        """Draw repeated characters of one kind (letters, digits), as in names and numbers."""
        if not ranges:
            return ""
        kind = charset.readable(ranges)[0]
        return "".join([charset.pick(kind, self.below(charset.size(kind))) for _ in range(count)])

    def _char(self, ranges: charset.Ranges) -> str:
        if not ranges:
            return ""
        kinds = charset.readable(ranges)
        kind = kinds[self.below(min(len(kinds), 3))]
        return charset.pick(kind, self.below(charset.size(kind)))


def shortest(part: Part) -> int:
    """Return the length of the shortest text, without regard to look-arounds and back references."""
    if isinstance(part, Chars):
        return 1
    if isinstance(part, Sequence):
        return sum(map(shortest, part.parts))
    if isinstance(part, Alternation):
        return min(map(shortest, part.options))
    if isinstance(part, Repeat):
        return part.low * shortest(part.part)
    return shortest(part.part) if isinstance(part, Group) else 0
