r"""Search for regular expressions of RE2's syntax in linear time where google-re2 is not installed.

The module has the part of google-re2's interface that :mod:`emulator.scenario.regex` uses. Syntax and semantics are
RE2's, except scripts such as ``\p{Greek}`` and ``\C``, which are refused.
"""

from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.scenario.regex_syntax import CharSet, ExpressionNode, error, parse

__all__ = ["Options", "compile", "error"]

MAX_SEARCH = 5 * 10**7
"""Steps times characters of a search; at worst some seconds, as a state that is new costs 0.3 us a step."""

_MAX_CACHED = 50_000  # transitions of one expression, about 5 MB
_START, _LINE, _WORD, _OTHER = range(4)  # kind of the character before
_WORD_CHARS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


class Options:
    """Options of an expression; only ``case_sensitive`` has an effect."""

    log_errors = True
    never_capture = False
    max_mem = 0
    case_sensitive = True


@fast_dataclass(slots=True)
class _Instruction:
    """Instruction: ``chars`` consumes a character; ``kind`` asserts; ``save`` notes a position; else it continues."""

    targets: tuple[int, ...] = ()  # in the order of preference
    chars: CharSet | None = None
    kind: str = ""
    save: tuple[str, bool] | None = None


class Program:
    """Instructions of an expression, run in parallel; the one after the last accepts."""

    def __init__(self, node: ExpressionNode) -> None:
        self.code: list[_Instruction] = []
        self._compile(node)
        self.end = len(self.code)
        self.names: list[str] = []

    def _emit(self, instruction: _Instruction) -> int:
        self.code.append(instruction)
        return len(self.code) - 1

    def _compile(self, node: ExpressionNode) -> None:
        if node.kind == "set":
            self._emit(_Instruction(chars=node.chars))
        elif node.kind == "assert":
            self._emit(_Instruction(kind=node.name))
        elif node.kind == "sequence":
            for part in node.parts:
                self._compile(part)
        elif node.kind == "choice":
            self._compile_choice(node)
        elif node.kind == "repeat":
            self._compile_repeat(node)
        else:
            self._emit(_Instruction(save=(node.name, True)))
            self._compile(node.parts[0])
            self._emit(_Instruction(save=(node.name, False)))

    def _compile_choice(self, node: ExpressionNode) -> None:
        fork = self._emit(_Instruction())
        starts, ends = [], []
        for part in node.parts:
            starts.append(len(self.code))
            self._compile(part)
            ends.append(self._emit(_Instruction()))
        self.code[fork].targets = tuple(starts)
        for end in ends:
            self.code[end].targets = (len(self.code),)

    def _compile_repeat(self, node: ExpressionNode) -> None:
        for _ in range(node.low):
            self._compile(node.parts[0])
        if node.high is None:
            forks = [self._emit(_Instruction())]
            self._compile(node.parts[0])
            self._emit(_Instruction(targets=(forks[0],)))
        else:
            forks = []
            for _ in range(node.high - node.low):
                forks.append(self._emit(_Instruction()))
                self._compile(node.parts[0])
        for fork in forks:
            ways = (fork + 1, len(self.code))
            self.code[fork].targets = ways if node.greedy else ways[::-1]


class _State(dict[str, "_State"]):
    """State of a search: places in the program, and the kind of the character before; it maps characters to states."""

    __slots__ = ("before", "places")

    def __init__(self, places: frozenset[int], before: int) -> None:
        self.places = places
        self.before = before


_FOUND = _State(frozenset(), _OTHER)


Saved = dict[str, tuple[int, int]]
"""Begin and end of each group, -1 while it is open."""

Thread = tuple[int, Saved]


class ExpressionMatch:
    """Match of an expression; its named groups."""

    def __init__(self, groups: dict[str, bytes | None]) -> None:
        self._groups = groups

    def groupdict(self) -> dict[str, bytes | None]:
        return self._groups


class Compiled:
    """Compiled expression; ``programsize``: its instructions as RE2 counts them, about."""

    def __init__(self, node: ExpressionNode, *, captures: bool) -> None:
        self._program = Program(node)
        self._captures = captures
        self.programsize = max(node.size + 4, len(self._program.code))
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._transitions = 0
        self._start = _State(frozenset({0}), _START)

    def search(self, data: bytes) -> ExpressionMatch | None:
        """Search a text in UTF-8."""
        text = data.decode("utf-8", "surrogatepass")
        if not self._find(text):
            return None
        return ExpressionMatch(self._capture(text) if self._captures else {})

    def _find(self, text: str) -> bool:
        state = self._start
        for char in text:
            following = state.get(char)
            if following is None:
                following = self._step(state, char)
            if following is _FOUND:
                return True
            state = following
        return self._program.end in self._close(state.places, state.before, "")

    def _step(self, state: _State, char: str) -> _State:
        """Return the state after a character, and remember it."""
        program, closed = self._program, self._close(state.places, state.before, char)
        if program.end in closed:
            found = _FOUND
        else:
            code = program.code
            places = {place + 1 for place in closed if (chars := code[place].chars) is not None and char in chars}
            key = frozenset(places | {0}), _classify(char)
            if self._transitions >= _MAX_CACHED:
                self._states, self._transitions = {}, 0
                self._start = _State(frozenset({0}), _START)
            known = self._states.get(key)
            found = self._states.setdefault(key, _State(*key)) if known is None else known
        self._transitions += 1
        state[char] = found
        return found

    def _close(self, places: frozenset[int], before: int, after: str) -> set[int]:
        """Return all places that are reached without consuming a character."""
        code, end = self._program.code, self._program.end
        seen: set[int] = set()
        pending = [*places]
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            if place != end:
                pending += _continue(code[place], place, before, after)
        return seen

    def _capture(self, text: str) -> dict[str, bytes | None]:
        """Return the groups of the first match, by threads in the order of preference."""
        groups: dict[str, bytes | None] = {item.save[0]: None for item in self._program.code if item.save is not None}
        best: Saved | None = None
        threads: list[Thread] = []
        before = _START
        for at, char in enumerate([*text, ""]):
            if best is None:
                threads.append((0, {}))
            elif not threads:
                break
            found, threads = self._advance(threads, before, char, at)
            best = best if found is None else found
            before = _classify(char)
        for name, (low, high) in (best or {}).items():
            if high >= 0:
                groups[name] = text[low:high].encode("utf-8", "surrogatepass")
        return groups

    def _advance(self, threads: list[Thread], before: int, char: str, at: int) -> tuple[Saved | None, list[Thread]]:
        """Return the groups of a thread that accepts here, and the threads before it that consume the character."""
        following: list[Thread] = []
        for place, saved in self._follow(threads, before, char, at):
            if place == self._program.end:
                return saved, following
            chars = self._program.code[place].chars
            if chars is not None and char and char in chars:
                following.append((place + 1, saved))
        return None, following

    def _follow(self, threads: list[Thread], before: int, after: str, at: int) -> Iterator[Thread]:
        """Yield the threads that consume a character or accept, each place once, in the order of preference."""
        code, end = self._program.code, self._program.end
        seen: set[int] = set()
        pending = threads[::-1]
        while pending:
            place, saved = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            if place == end or code[place].chars is not None:
                yield place, saved
                continue
            save = code[place].save
            if save is not None:
                name, opens = save
                saved = {**saved, name: (at, -1) if opens else (saved[name][0], at)}
            pending += [(target, saved) for target in reversed(_continue(code[place], place, before, after))]


def _continue(instruction: _Instruction, place: int, before: int, after: str) -> tuple[int, ...]:
    """Return the places that follow one without consuming a character."""
    if instruction.chars is not None:
        return ()
    if instruction.kind:
        return (place + 1,) if _holds(instruction.kind, before, after) else ()
    return (place + 1,) if instruction.save is not None else instruction.targets


def _holds(kind: str, before: int, after: str) -> bool:
    if kind.startswith("begin"):
        return before == _START or (before == _LINE and kind == "begin_of_line")
    if kind.startswith("end"):
        return not after or (after == "\n" and kind == "end_of_line")
    return ((before == _WORD) != (after in _WORD_CHARS)) == (kind == "word")


def _classify(char: str) -> int:
    return _LINE if char == "\n" else _WORD if char in _WORD_CHARS else _OTHER


def compile(pattern: bytes, options: Options) -> Compiled:  # as google-re2 names it
    """Compile an expression.

    Raises:
        error: it is invalid or too large.
    """
    try:
        return Compiled(
            parse(pattern.decode(), ignore_case=not options.case_sensitive), captures=not options.never_capture
        )
    except RecursionError:
        raise error("expression nests too deeply") from None
