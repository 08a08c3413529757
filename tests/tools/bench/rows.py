"""Rows of the benchmark: figures of the emulator and their bounds, most of them as a ratio to a bare handler."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.tools.bench.load import Load
from tests.tools.bench.servers import NUMBER

OURS = "emulator"  # the side with an empty scenario
USUAL = "usual"
TTFT, ITL, TOKENS = 100.0, 20.0, 64  # milliseconds, milliseconds, tokens of a paced stream
LIMIT = 256  # tokens of an unpaced stream
PREFIX, CHAT, EMBED = "/serving-endpoints", "/chat/completions", "/embeddings"
VOCABULARY = "o200k_base"  # of the package litellm, without which the rows that need it are left out
STORE = "redis://"  # in flags, replaced by the URL of the Redis of the run
_MODEL = "databricks-meta-llama-3-3-70b-instruct"
_OTHER = "databricks-gte-large-en"  # a deployment that no chat request addresses
_SYSTEM = "You are a helpful assistant who answers briefly and to the point."
_PROMPT = f"Please tell me in a few words what I should know about topic {NUMBER} before I start."
_LONG = _PROMPT.replace(NUMBER, "00000002")  # one of five topics has a text of more than ``LIMIT`` tokens, as this one
_FAULTS = """version: 1
name: faults
rules:
  - {name: one in ten, times: {probability: 0.1, per: request}, faults: [{type: extra_fields}]}
"""
_QUOTA = """version: 1
name: quota
limits:
  - {per: principal, unit: requests, amount: 100000000, window: 60s}  # emulator: ignore EM018
"""
_REAL = f"""version: 1
name: real vocabulary
deployments: [{{vendor: databricks, name: {_MODEL}, tokenizer: {VOCABULARY}}}]
"""
_LEXICAL = f"""version: 1
name: lexical vectors
deployments: [{{vendor: databricks, name: {_OTHER}, task: embeddings, embeddings: {{geometry: lexical}}}}]
"""
_COMMON_RULES = 3  # of the scenarios of many rules
_INF = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way to start the emulator.

    Fields:
        path: path of the requests; ``NUMBER`` in it differs in each request.
        flags: flags of ``emulator serve``.
        scenario: YAML text; empty: no scenario.
    """

    path: str = PREFIX + CHAT
    flags: tuple[str, ...] = ()
    scenario: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Load that is sent to several sides in turn.

    Fields:
        setups: sides that run the emulator, by name.
        bare: sides that run a bare handler of the reference.
        load: absent for the startup time and for the memory of open streams.
        share: length of one measurement, as a multiple of ``--seconds``.
    """

    name: str
    setups: Mapping[str, Setup] = field(default_factory=lambda: {OURS: Setup()})
    bare: tuple[str, ...] = ()
    load: Load | None = None
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Fields:
        side: side with the figure that is shown.
        figure: name of a figure of :mod:`~tests.tools.bench.load`.
        against: other side; the row is the ratio to its figure, or with ``added`` the difference.
        must, aim: bounds; absent: none.
        at_least: bounds are minima, not maxima.
        ceiling: best known value of the row, from a prototype that does the same work.
    """

    number: str
    name: str
    work: str
    figure: str
    side: str = OURS
    against: str = ""
    must: float | None = None
    aim: float | None = None
    unit: str = ""
    ceiling: str = ""
    at_least: bool = False
    added: bool = False

    def read(self, sides: Mapping[str, Mapping[str, float]]) -> float:
        """Return the value of one repetition; without any response, the worst value there is."""
        own = abs(sides[self.side].get(self.figure, 0.0 if self.at_least else _INF))
        if not self.against:
            return own
        other = sides[self.against][self.figure]
        return own - other if self.added else own / other

    def holds(self, value: float) -> bool:
        """Return whether a value meets ``must``."""
        if self.must is None:
            return True
        return value >= self.must if self.at_least else value <= self.must


def chat(tokens: int, *, stream: bool = False) -> dict[str, object]:
    """Build the body of a chat request; each request has a prompt of its own."""
    return _chat(_PROMPT, tokens, stream=stream)


def long_stream() -> dict[str, object]:
    """Build the body of a stream with a text of the maximum tokens; each request has its own ``user``."""
    return {**_chat(_LONG, LIMIT, stream=True), "user": f"user-{NUMBER}"}


def _chat(prompt: str, tokens: int, *, stream: bool) -> dict[str, object]:
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": prompt}]
    body: dict[str, object] = {"model": _MODEL, "max_tokens": tokens, "messages": messages}
    return {**body, "stream": True} if stream else body


def write_rules(count: int) -> str:
    """Write a scenario of rules that match no request of the benchmark.

    Three look at the prompt; of the others, half are about another deployment, half about a header.
    """
    lines = ["version: 1", "name: rules", "rules:"]
    for number in range(count):
        facet = f"prompt: {{contains: refund {number:04}}}"
        if number < count - _COMMON_RULES:
            facet = f"deployment: {_OTHER}, {facet}" if number % 2 else f"header.x-tenant: tenant-{number}"
        lines.append(f"  - {{name: rule {number}, when: {{{facet}}}, error: {{kind: overloaded}}}}")
    return "\n".join(lines) + "\n"


def _embed(encoding: str) -> Work:
    texts = [f"A short passage about subject {NUMBER} that somebody wants to find again."] * 64
    body = {"model": "databricks-gte-large-en", "input": texts, "encoding_format": encoding}
    load = Load(body=body, connections=16)
    path = PREFIX + EMBED
    setups = {OURS: Setup(path=path), "lexical": Setup(path=path, scenario=_LEXICAL)}
    return Work(name=encoding, setups=setups, load=load, bare=("embeddings",))


def _pace(connections: int, ramp: float, warm: float, share: float, *scenarios: str) -> Work:
    load = Load(body=chat(TOKENS, stream=True), connections=connections, ramp=ramp, warm=warm, ttft=TTFT, itl=ITL)
    plain = Setup(flags=("--ttft", f"{TTFT:.0f}ms", "--itl", f"{ITL:.0f}ms"))
    setups = {OURS: plain, **{name: replace(plain, scenario=usual_scenario()) for name in scenarios}}
    bare = () if scenarios else ("paced",)
    return Work(name=f"{connections} streams", setups=setups, load=load, bare=bare, share=share)


def usual_scenario() -> str:
    """Read the scenario that is typical of what users write."""
    return Path(__file__).with_name("usual.yaml").read_text(encoding="utf-8")


RULES = (10, 100, 1000)
_USUAL = Setup(scenario=usual_scenario())
_CHATS = Load(body=chat(64), connections=32)
WORKS = (
    Work(
        name="chat",
        setups={
            OURS: Setup(),
            USUAL: _USUAL,
            "faults": Setup(scenario=_FAULTS),
            "sessions": Setup(path=f"/_s/{NUMBER}{PREFIX}{CHAT}"),
            **{f"{count} rules": Setup(scenario=write_rules(count)) for count in RULES},
            VOCABULARY: Setup(scenario=_REAL),
            "two workers": Setup(flags=("--workers", "2")),
        },
        load=_CHATS,
        bare=("constant", "validating"),
    ),
    Work(
        name="stream",
        setups={OURS: Setup(), USUAL: _USUAL},
        load=Load(body=long_stream(), connections=32),
        bare=("joined",),
    ),
    _pace(100, 0.2, 2.0, 1.5, USUAL),
    _pace(1000, 1.0, 2.0, 1.5),
    _pace(5000, 5.0, 3.0, 2.5),
    _embed("float"),
    _embed("base64"),
    Work(name="start", setups={OURS: Setup(), USUAL: _USUAL}, bare=("validating",)),
    Work(name="open", setups={OURS: Setup(flags=("--itl", "10m"))}),
    Work(name="off", load=_CHATS),
    Work(
        name="quota",
        setups={
            "memory": Setup(scenario=_QUOTA),
            "Redis": Setup(scenario=_QUOTA, flags=("--state-url", STORE)),
        },
        load=replace(_CHATS, connections=1),
    ),
)
_PARSER = "1.38 (1.88)"  # with remembered heads; on asyncio 1.77
ROWS = (
    Row(number="1", name="chat, 64 tokens, no prompt twice", work="chat", figure="answers_per_cpu",
        against="constant", must=0.42, aim=0.60, at_least=True, ceiling=_PARSER),
    Row(number="1", name="the same, usual scenario", work="chat", figure="answers_per_cpu", side=USUAL,
        against="constant", must=0.38, aim=0.55, at_least=True, ceiling=_PARSER),
    Row(number="2", name="chat as in row 1", work="chat", figure="answers_per_cpu", against="validating", must=0.60,
        aim=0.80, at_least=True),
    Row(number="3", name="its latency, p99", work="chat", figure="latency_p99", against="validating", must=3, aim=2),
    Row(number="3", name="its latency, p99, usual scenario", work="chat", figure="latency_p99", side=USUAL,
        against="validating", must=3, aim=2),
    Row(number="4", name="stream of all 256 tokens, no pacing", work="stream", figure="tokens_per_cpu",
        against="joined", must=0.90, aim=1.2, at_least=True),
    Row(number="4", name="the same, usual scenario", work="stream", figure="tokens_per_cpu", side=USUAL,
        against="joined", must=0.60, aim=1, at_least=True),
    Row(number="5", name="100 paced streams, TTFT late by", work="100 streams", figure="ttft_mean", must=1, aim=0.3,
        unit="ms"),
    Row(number="5", name="100 paced streams, drift", work="100 streams", figure="drift_mean", must=0.3, aim=0.1,
        unit="ms"),
    Row(number="5", name="100 paced streams, usual scenario, TTFT late by", work="100 streams", figure="ttft_mean",
        side=USUAL, must=1, aim=0.3, unit="ms"),
    Row(number="5", name="100 paced streams, usual scenario, drift", work="100 streams", figure="drift_mean",
        side=USUAL, must=0.3, aim=0.1, unit="ms"),
    Row(number="6", name="1,000 paced streams, processor a token", work="1000 streams", figure="cpu_per_token",
        against="paced", must=2, aim=1.4),
    Row(number="6", name="1,000 paced streams, drift", work="1000 streams", figure="drift_mean", must=1, aim=1,
        unit="ms"),
    Row(number="6", name="1,000 paced streams, TTFT late by, p99", work="1000 streams", figure="ttft_p99", aim=5,
        unit="ms"),
    Row(number="7", name="5,000 paced streams, failed", work="5000 streams", figure="failed", must=0, aim=0),
    Row(number="7", name="5,000 paced streams, tokens a second", work="5000 streams", figure="tokens",
        against="paced", must=0.60, aim=0.85, at_least=True),
    Row(number="8", name="64 vectors of 1024, float", work="float", figure="answers_per_cpu", against="embeddings",
        must=0.75, aim=0.95, at_least=True),
    Row(number="8", name="64 vectors of 1024, base64", work="base64", figure="answers_per_cpu",
        against="embeddings", must=0.90, aim=0.95, at_least=True),
    *(
        Row(number="8", name=f"the same, {encoding}, lexical", work=encoding, figure="answers_per_cpu", side="lexical",
            against=OURS, must=0.77, at_least=True)
        for encoding in ("float", "base64")
    ),
    Row(number="9", name="start to first answer", work="start", figure="first_answer", against="validating", must=2,
        aim=1.5),
    Row(number="9", name="start to first answer, usual scenario", work="start", figure="first_answer", side=USUAL,
        against="validating", must=2, aim=1.5),
    Row(number="9", name="memory, idle", work="start", figure="idle", must=70, aim=55, unit="MiB"),
    Row(number="9", name="memory, idle, usual scenario", work="start", figure="idle", side=USUAL, must=70, aim=55,
        unit="MiB"),
    Row(number="9", name="memory of an open stream", work="open", figure="a_stream", must=24, aim=16, unit="KiB"),
    *(
        Row(number="10", name=f"{name} that are off, of row 1", work="off", figure=figure, must=0.02, aim=0.01)
        for figure, name in (("rules", "rules"), ("limits", "limits"), ("faults", "faults"),
                             ("bodies", "bodies in the journal"), ("metrics", "metrics"))
    ),
    Row(number="11", name="chat, a fault on one call in ten", work="chat", figure="answers_per_cpu", side="faults",
        against=OURS, at_least=True),
    Row(number="12", name="chat, a session for each call", work="chat", figure="answers_per_cpu", side="sessions",
        against=OURS, at_least=True),
    *(
        Row(number="13", name=f"chat, {count:,} rules", work="chat", figure="answers_per_cpu", side=f"{count} rules",
            against=OURS, at_least=True)
        for count in RULES
    ),
    Row(number="14", name="chat, a quota in Redis, added p50", work="quota", figure="latency_p50", side="Redis",
        against="memory", added=True, must=0.35, aim=0.2, unit="ms"),
    Row(number="15", name="chat, two workers", work="chat", figure="answers_per_cpu", side="two workers",
        against=OURS, at_least=True),
    Row(number="16", name="chat, a real vocabulary", work="chat", figure="answers_per_cpu", side=VOCABULARY,
        against=OURS, at_least=True),
)  # fmt: skip
NUMBERS = tuple(dict.fromkeys(row.number for row in ROWS))


def works_of(rows: Iterable[Row]) -> list[Work]:
    """Return the works of some rows, with only the sides that these rows need."""
    sides: dict[str, set[str]] = {}
    for row in rows:
        sides.setdefault(row.work, set()).update((row.side, row.against))
    return [_narrow(work, sides[work.name]) for work in WORKS if work.name in sides]


def _narrow(work: Work, sides: set[str]) -> Work:
    setups = {name: setup for name, setup in work.setups.items() if name in sides}
    return replace(work, setups=setups, bare=tuple(name for name in work.bare if name in sides))
