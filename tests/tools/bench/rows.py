"""What is measured: each row a figure of the emulator's, most of them beside a bare handler's that does the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from tests.tools.bench.load import NUMBER, Load

OURS = "emulator"
TTFT, ITL, TOKENS = 100.0, 20.0, 64  # milliseconds, milliseconds, tokens of a paced stream
PREFIX, CHAT, EMBED = "/serving-endpoints", "/chat/completions", "/embeddings"
_MODEL = "databricks-meta-llama-3-3-70b-instruct"
_SYSTEM = "You are a helpful assistant who answers briefly and to the point."
_PROMPT = f"Please tell me in a few words what I should know about topic {NUMBER} before I start."


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What sides do in turn.

    Fields:
        bare: the reference's handlers that bear the same load.
        load: absent: a start, and streams that stay open.
        path: of ours, after the vendor's base URL.
        flags: of ours.
        share: of the usual time for measuring it.
    """

    name: str
    bare: tuple[str, ...]
    load: Load | None = None
    path: str = CHAT
    flags: tuple[str, ...] = ()
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Fields:
        figure: of ours, or what it is to that of ``against``.
        at_least: a higher one is better.
    """

    number: str
    name: str
    work: str
    figure: str
    must: float
    aim: float
    against: str = ""
    unit: str = ""
    at_least: bool = False

    def read(self, sides: Mapping[str, Mapping[str, float]]) -> float:
        """The figure of one repetition; where not one answer came, the worst there is."""
        own = abs(sides[OURS].get(self.figure, 0.0 if self.at_least else inf))
        return own / sides[self.against][self.figure] if self.against else own

    def holds(self, figure: float) -> bool:
        """It keeps to what must be."""
        return figure >= self.must if self.at_least else figure <= self.must


def chat(tokens: int, *, stream: bool = False) -> dict[str, object]:
    """A chat whose prompt never comes twice."""
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _PROMPT}]
    body: dict[str, object] = {"model": _MODEL, "max_tokens": tokens, "messages": messages}
    return {**body, "stream": True} if stream else body


def _embed(encoding: str) -> Load:
    texts = [f"A short passage about subject {NUMBER} that somebody wants to find again."] * 64
    body = {"model": "databricks-gte-large-en", "input": texts, "encoding_format": encoding}
    return Load(body=body, connections=16)


def _pace(connections: int, ramp: float, warm: float, share: float) -> Work:
    load = Load(body=chat(TOKENS, stream=True), connections=connections, ramp=ramp, warm=warm, ttft=TTFT, itl=ITL)
    flags = ("--ttft", f"{TTFT:.0f}ms", "--itl", f"{ITL:.0f}ms")
    return Work(name=f"{connections} streams", load=load, bare=("paced",), flags=flags, share=share)


WORKS = (
    Work(name="chat", load=Load(body=chat(64), connections=32), bare=("constant", "validating")),
    Work(name="stream", load=Load(body=chat(256, stream=True), connections=32), bare=("joined",)),
    _pace(100, 0.2, 2.0, 1.5),
    _pace(1000, 1.0, 2.0, 1.5),
    _pace(5000, 5.0, 3.0, 2.5),
    Work(name="float", path=EMBED, load=_embed("float"), bare=("embeddings",)),
    Work(name="base64", path=EMBED, load=_embed("base64"), bare=("embeddings",)),
    Work(name="start", bare=("validating",)),
    Work(name="open", bare=(), flags=("--itl", "10m")),
    Work(name="off", load=Load(body=chat(64), connections=32), bare=()),
)
ROWS = (
    Row(number="1", name="chat, 64 tokens, no prompt twice", work="chat", figure="answers_per_cpu",
        against="constant", must=0.45, aim=0.60, at_least=True),
    Row(number="2", name="the same", work="chat", figure="answers_per_cpu", against="validating", must=0.60,
        aim=0.80, at_least=True),
    Row(number="3", name="its latency, p99", work="chat", figure="latency_p99", against="validating", must=3, aim=2),
    Row(number="4", name="stream of 256 tokens, no pacing", work="stream", figure="tokens_per_cpu", against="joined",
        must=0.50, aim=0.80, at_least=True),
    Row(number="5", name="100 paced streams, TTFT late by", work="100 streams", figure="ttft_mean", must=1, aim=0.3,
        unit="ms"),
    Row(number="5", name="100 paced streams, drift", work="100 streams", figure="drift_mean", must=0.3, aim=0.1,
        unit="ms"),
    Row(number="6", name="1,000 paced streams, processor a token", work="1000 streams", figure="cpu_per_token",
        against="paced", must=2, aim=1.4),
    Row(number="6", name="1,000 paced streams, drift", work="1000 streams", figure="drift_mean", must=1, aim=1,
        unit="ms"),
    Row(number="6", name="1,000 paced streams, TTFT late by, p99", work="1000 streams", figure="ttft_p99", must=inf,
        aim=5, unit="ms"),
    Row(number="7", name="5,000 paced streams, failed", work="5000 streams", figure="failed", must=0, aim=0),
    Row(number="7", name="5,000 paced streams, tokens a second", work="5000 streams", figure="tokens",
        against="paced", must=0.60, aim=0.85, at_least=True),
    Row(number="8", name="64 vectors of 1024, float", work="float", figure="answers_per_cpu", against="embeddings",
        must=0.75, aim=0.95, at_least=True),
    Row(number="8", name="64 vectors of 1024, base64", work="base64", figure="answers_per_cpu",
        against="embeddings", must=0.90, aim=0.95, at_least=True),
    Row(number="9", name="start to first answer", work="start", figure="first_answer", against="validating", must=2,
        aim=1.5),
    Row(number="9", name="memory, idle", work="start", figure="idle", must=70, aim=55, unit="MiB"),
    Row(number="9", name="memory of an open stream", work="open", figure="a_stream", must=24, aim=16, unit="KiB"),
    *(
        Row(number="10", name=f"{name} that are off, of row 1", work="off", figure=figure, must=0.02, aim=0.01)
        for figure, name in (("rules", "rules"), ("limits", "limits"), ("faults", "faults"),
                             ("bodies", "bodies in the journal"), ("metrics", "metrics"))
    ),
)  # fmt: skip
NUMBERS = tuple(dict.fromkeys(row.number for row in ROWS))


def works_of(rows: Iterable[Row]) -> list[Work]:
    """Each once."""
    wanted = {row.work for row in rows}
    return [work for work in WORKS if work.name in wanted]
