"""Every vendor that streams, cut at an exact byte and reset: what a client has read by then."""

import json
import re
from dataclasses import dataclass, field

import pytest

from emulator.core.json import dump_text
from tests.conftest import Start
from tests.faults.test_whole_and_streamed import TABLE
from tests.http_client import Running, read_until_reset
from tests.untyped_json import JSON

CHUNKS = ["Hello ", "你好 ", "😀 ", 'a "b" ', "tab\there ", "終わり"]
TEXT = "".join(CHUNKS)
SAY = f"rules:\n- name: r\n  reply: {{chunks: {json.dumps(CHUNKS, ensure_ascii=False)}}}\n"


@dataclass(frozen=True, slots=True)
class Case:
    """Request to a vendor; ``flag``: member of the body that asks for a stream, ``streamed``: the path of streams."""

    vendor: str
    path: str
    body: dict[str, JSON] = field(default_factory=dict)
    streamed: str = ""

    def target(self, *, stream: bool) -> str:
        return self.streamed if stream and self.streamed else self.path

    def payload(self, *, stream: bool) -> JSON:
        return {**self.body, "stream": True} if stream and not self.streamed else self.body


CHAT: dict[str, JSON] = {"messages": [{"role": "user", "content": "hi"}]}
TGI: dict[str, JSON] = {"inputs": "hi", "parameters": {"details": True}}
CASES = [
    pytest.param(
        Case("databricks", "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", CHAT),
        id="databricks chat",
    ),
    pytest.param(
        Case("databricks", "/serving-endpoints/responses", {"model": "databricks-gpt-5", "input": "hi"}),
        id="databricks responses",
    ),
    pytest.param(Case("azure", "/chat/completions?api-version=2024-05-01-preview", CHAT), id="azure"),
    pytest.param(
        Case("azure", "/chat/completions?api-version=2024-05-01-preview", {**CHAT, "model": "gpt-4o-mini"}),
        id="azure openai",
    ),
    pytest.param(Case("mindie", "/generate", TGI, "/generate_stream"), id="mindie generate"),
    pytest.param(Case("mindie", "/v1/chat/completions", {**CHAT, "model": "llama_65b"}), id="mindie chat"),
    pytest.param(Case("tgi", "/generate", TGI, "/generate_stream"), id="tgi generate"),
    pytest.param(Case("tgi", "/v1/chat/completions", {**CHAT, "model": "tgi"}), id="tgi chat"),
    pytest.param(Case("openvino", "/v3/chat/completions", {**CHAT, "model": "llama3"}), id="openvino chat"),
    pytest.param(Case("openvino", "/v3/completions", {"prompt": "hi", "model": "llama3"}), id="openvino completions"),
]
STREAM = [pytest.param(True, id="streamed"), pytest.param(False, id="in one piece")]


async def read(served: Running, case: Case, *, stream: bool, fault: str = "") -> tuple[bytes, bool]:
    """The body as a client's HTTP layer yields it, and whether a reset ended it.

    Each fault has a session of its own, so that all answers are first ones and have the same ids.
    """
    headers = {"Authorization": "Bearer k", "api-key": "k"}
    if fault:
        headers |= {"x-emulator-fault": fault, "x-emulator-session": re.sub(r"[^\w.-]", "-", fault)[:64]}
    target, payload = case.target(stream=stream), case.payload(stream=stream)
    return await read_until_reset(served, case.vendor, target, payload, headers)


def said(body: bytes) -> str:
    """The text that whole events carry."""
    text = ""
    for line in re.findall(rb"data: ?(\{.*\})\r?\n", body):
        event = json.loads(line)
        choice = (event.get("choices") or [{}])[0]
        delta = event.get("delta") if event.get("type") == "response.output_text.delta" else None
        token = event.get("token") or {}
        text += (
            delta or choice.get("text") or (choice.get("delta") or {}).get("content") or token.get("text") or ""
        ).removesuffix("</s>")
    return text


@pytest.mark.covers("language/faults", "disconnect")
@pytest.mark.covers("language/positions", "inside")
@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("case", CASES)
async def test_disconnect_inside_character_cuts_at_exact_byte(start: Start, case: Case, stream: bool) -> None:
    served = await start(SAY)
    plain, _ = await read(served, case, stream=stream)
    bent, was_reset = await read(served, case, stream=stream, fault="disconnect; inside=utf8")
    first = next(index for index, byte in enumerate(plain) if byte >= 0x80)
    assert was_reset
    assert bent == plain[: first + 1]


@pytest.mark.slow
@pytest.mark.covers("language/positions", "after_tokens")
@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [1, 2, 4, 5])
async def test_disconnect_after_tokens_sends_exactly_those(start: Start, case: Case, stream: bool, count: int) -> None:
    fault = f"disconnect; after_tokens={count}"
    served = await start(SAY)
    plain, _ = await read(served, case, stream=stream)
    bent, was_reset = await read(served, case, stream=stream, fault=fault)
    assert was_reset
    assert plain.startswith(bent)
    begun = "".join(CHUNKS[:count])
    if stream:
        assert said(bent) == begun
    else:
        assert bent.endswith(json.dumps(begun, ensure_ascii=False).encode().removeprefix(b'"').removesuffix(b'"'))


@pytest.mark.covers("language/positions", "before")
@pytest.mark.parametrize("case", CASES)
async def test_truncate_before_finish_omits_finish_reason(start: Start, case: Case) -> None:
    bent, was_reset = await read(await start(SAY), case, stream=True, fault="truncate; before=finish")
    assert not was_reset
    assert b"[DONE]" not in bent
    assert not re.search(rb'"finish_reason": ?"', bent)
    assert TEXT.startswith(said(bent))


@pytest.mark.covers("language/faults", "drop")
@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("case", CASES)
async def test_drop_removes_only_named_fields(start: Start, case: Case, stream: bool) -> None:
    served = await start(SAY)
    plain, _ = await read(served, case, stream=stream)
    bent, _ = await read(served, case, stream=stream, fault='drop; field=["finish_reason","usage","done"]')
    assert b"finish_reason" in plain or "responses" in case.path
    for name in (b'"finish_reason"', b'"usage"', b'"generated_tokens"', b"[DONE]"):
        assert name not in bent
    assert said(bent) == said(plain)


@pytest.mark.covers("language/faults", "wrong_usage")
@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("case", CASES)
async def test_wrong_usage_increments_token_counts(start: Start, case: Case, stream: bool) -> None:
    pattern = rb'"(?:completion|output|generated)_tokens":(\d+)'
    served = await start(SAY)
    plain, _ = await read(served, case, stream=stream)
    bent, _ = await read(served, case, stream=stream, fault="wrong_usage")
    right = [int(count) for count in re.findall(pattern, plain)]
    assert [int(count) for count in re.findall(pattern, bent)] == [count + 1 for count in right]


@pytest.mark.covers("language/faults", "late_error")
@pytest.mark.parametrize("case", CASES)
async def test_late_error_follows_sent_tokens(start: Start, case: Case) -> None:
    served = await start(SAY)
    begun, _ = await read(served, case, stream=True, fault="disconnect; after_tokens=2")
    bent, was_reset = await read(served, case, stream=True, fault="late_error; after_tokens=2")
    assert not was_reset
    assert bent.startswith(begun)
    assert b"error" in bent[len(begun) :].lower() or case.vendor == "mindie"
    assert len(bent) > len(begun)


@pytest.mark.parametrize("case", CASES)
async def test_late_error_replaces_unary_response(start: Start, case: Case) -> None:
    served = await start(SAY)
    plain, _ = await read(served, case, stream=False)
    bent, was_reset = await read(served, case, stream=False, fault="late_error; after_tokens=2")
    assert not was_reset
    assert bent
    assert bent != plain
    assert CHUNKS[0].encode() not in bent


_BODIES = ("no body", "a part of the body", "another body")
_TIMED = ("stall", "hang", "drip")  # the clock is frozen; when they send is tested elsewhere
_MAY_FIND_NOTHING = ("drop", "wrong_usage")  # a vendor may have no end mark, and no counts in a stream


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("case", CASES)
async def test_every_fault_matches_table_for_every_vendor(start: Start, case: Case, stream: bool) -> None:
    served = await start(SAY)
    plain, _ = await read(served, case, stream=stream)
    for fields, streamed, whole in TABLE:
        if fields["type"] in _TIMED:
            continue
        expected = streamed if stream else whole
        given = (f"{key}={dump_text(value)}" for key, value in fields.items() if key != "type")
        fault = "; ".join([str(fields["type"]), *given])
        bent, was_reset = await read(served, case, stream=stream, fault=fault)
        body = "no body" if not bent else "a part of the body" if plain.startswith(bent) else "another body"
        wanted = next((word for word in _BODIES if word in expected), None)
        assert bent == plain if wanted is None else body == wanted or fields["type"] in _MAY_FIND_NOTHING, fault
        assert was_reset == ("reset" in expected), fault
