"""Bodies of chats made to stop a server."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial

from tests.tools.attack.rows import CHATS, Row, chat, sending, write
from tests.untyped_json import JSON


def _schema(vendor: str, schema: JSON) -> bytes:
    wanted = {"name": "a", "schema": schema, "strict": False}
    return chat(vendor, max_tokens=200, response_format={"type": "json_schema", "json_schema": wanted})


def make_bomb(vendor: str) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(2**20)) for _ in range(200)), packer.flush()])


_BARE: JSON = {"type": "function", "function": {"name": "f"}}
_PATTERNS = {f"^[a-z]{{{n % 50},100}}{n}$": {"type": "string"} for n in range(2000)}
_MANY = [{"type": "string", "pattern": f"^a{n}"} for n in range(3000)]
_CHAIN = "start: r0\n" + "".join(f'r{n}: r{n + 1} ("a" | "b" | "c" | "d")\n' for n in range(498)) + 'r498: "a"\n'
_GRAMMARS = {"a grammar of 499 rules": _CHAIN, "a grammar of 20 MB": 'start: "' + "iVBORw0KGgo" * 1_900_000 + '"'}
BODIES: dict[str, Callable[[str], bytes]] = {
    "tools without parameters and nobody who asks": lambda vendor: chat(vendor, messages=[], tools=[_BARE]),
    "tools that must be called and nobody who asks": lambda vendor: chat(
        vendor, messages=[], tools=[_BARE], tool_choice="required"
    ),
    "parameters that are no schema": lambda vendor: chat(
        vendor, messages=[], tools=[{"type": "function", "function": {"name": "f", "parameters": "x"}}]
    ),
    "400,000 wrong messages": lambda vendor: b'{"messages":[' + b"1," * 400_000 + b"1]}",
    "100,000 wrong parts": lambda vendor: chat(vendor, messages=[{"role": "user", "content": [1] * 100_000}]),
    "a list in a list in a list": lambda vendor: b'{"messages":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "a million digits": lambda vendor: b'{"max_tokens":' + b"9" * 1_000_000 + b"}",
    "a text of quotes": lambda vendor: b'"' + b'\\"' * 300_000 + b"," * 400_000,
    "a model's name of a million letters": lambda vendor: chat(vendor, model="x" * 1_000_000),
    "as many answers as may be asked": lambda vendor: chat(vendor, n=1_000_000),
    "answers without end": lambda vendor: chat(vendor, n=128, max_tokens=10**9, ignore_eos=True),
    "alternatives of many answers": lambda vendor: chat(vendor, n=100, max_tokens=8000, logprobs=True, top_logprobs=20),
    "3,000 alternatives": lambda vendor: _schema(vendor, {"properties": {"a": {"oneOf": _MANY}}, "required": ["a"]}),
    "2,000 patterns": lambda vendor: _schema(
        vendor, {"type": "object", "minProperties": 50, "patternProperties": _PATTERNS}
    ),
    "an array of thousands": lambda vendor: _schema(
        vendor, {"type": "array", "minItems": 2000, "items": {"type": "string", "format": "email"}}
    ),
}


def _nest(body: bytes, times: int) -> bytes:
    for _ in range(times):
        body = gzip.compress(body)
    return body


def _deflate(body: bytes, wbits: int) -> bytes:
    packer = zlib.compressobj(9, wbits=wbits)
    return packer.compress(body) + packer.flush()


_PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip of many members": (
        "gzip",
        lambda body: b"".join(gzip.compress(body[at : at + 1]) for at in range(len(body))),
    ),
    "gzip of 20,000 empty members": ("gzip", lambda body: gzip.compress(b"") * 20_000 + gzip.compress(body)),
    "gzip with rubbish behind it": ("gzip", lambda body: gzip.compress(body) + b"\0\xffrubbish" * 100_000),
    "gzip in gzip": ("gzip", lambda body: _nest(body, 5)),
    "two encodings": ("gzip, gzip", lambda body: _nest(body, 2)),
    "a hundred encodings": (", ".join(["gzip"] * 100), lambda body: _nest(body, 3)),
    "deflate": ("deflate", lambda body: _deflate(body, 15)),
    "deflate without its head": ("deflate", lambda body: _deflate(body, -15)),
    "deflate, a bomb": ("deflate", lambda body: _deflate(bytes(200 * 2**20), 15)),
    "brotli that is none": ("br", lambda body: b"\xff" * 1_000_000),
    "zstd that is none": ("zstd", lambda body: b"\x28\xb5\x2f\xfd" * 250_000),
    "a gzip head that goes on": ("gzip", lambda body: b"\x1f\x8b\x08\x08" + b"\0" * 4 + b"\0\xff" + b"n" * 5_000_000),
}
_RESPONSES = [
    ("azure", "/openai/v1/responses", "gpt-5"),
    ("databricks", "/serving-endpoints/responses", "databricks-gpt-5"),
]
_CALLS = [
    ("azure", "/openai/v1/chat/completions", "gpt-4o"),
    ("databricks", "/serving-endpoints/chat/completions", "databricks-meta-llama-3-3-70b-instruct"),
]
_TEXT: JSON = {"type": "string"}
_SEARCHED: dict[str, tuple[str, dict[str, JSON]]] = {
    "a word of 60,000 letters that is no address": ("_" * 60_000, {"email": _TEXT}),
    "30,000 words with dots that are no address": ("a." * 30_000, {"email": _TEXT}),
    "20,000 words before no place": ("在" * 20_000, {"city": _TEXT}),
    "600 places in 8,000": ("in A " * 8000, {f"city{n}": _TEXT for n in range(600)}),
    "2,500 members that may be meant": ("x " * 10_000, {"a": {"enum": [f"v{n}" for n in range(2500)]}}),
    "20,000 numbers for 500": ("1 " * 20_000, {f"n{n}": {"type": "number"} for n in range(500)}),
}
_HEADERS = {
    "forty faults in one header": "x-emulator-fault: " + ", ".join(["extra_fields"] * 40),
    "sixteen times twice as much": "\r\n".join(["x-emulator-fault: duplicate"] * 16),
    "byte by byte": 'x-emulator-fault: split; writes="byte"',
    "brackets that are not closed": "x-emulator-fault: " + "[" * 8000,
    "a wait beyond all time": "x-emulator-ttft: 99999999999999999999d",
}


def list_chats() -> Iterator[Row]:
    """To each vendor's chat: bodies, compressed ones, and headers that ask for too much."""
    for vendor, (target, _) in CHATS.items():
        for name, make in BODIES.items():
            yield Row(vendor, name, sending(vendor, partial(_write, vendor, partial(make, vendor))))
        for name, (encoding, pack) in {**_PACKED, "gzip, a bomb": ("gzip", lambda _: make_bomb(""))}.items():
            line = f"Content-Encoding: {encoding}"
            yield Row(vendor, name, sending(vendor, partial(_pack, target, pack, chat(vendor), line)))
        for name, line in _HEADERS.items():
            yield Row(vendor, name, sending(vendor, partial(write, "POST", target, chat(vendor, max_tokens=900), line)))


def list_grammars() -> Iterator[Row]:
    """Of custom tools."""
    for name, definition in _GRAMMARS.items():
        tool = {
            "type": "custom",
            "name": "t",
            "format": {"type": "grammar", "definition": definition, "syntax": "lark"},
        }
        for vendor, target, model in _RESPONSES:
            body = json.dumps({"model": model, "input": "Hi", "tools": [tool]}).encode()
            yield Row(vendor, name, sending(vendor, partial(write, "POST", target, body)))


def list_searched() -> Iterator[Row]:
    """Prompts in which the values of a tool's parameters are looked for."""
    for name, (prompt, properties) in _SEARCHED.items():
        function = {"name": "f", "parameters": {"type": "object", "properties": properties, "required": [*properties]}}
        for vendor, target, model in _CALLS:
            messages = [{"role": "user", "content": prompt}]
            asked = {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
            body = json.dumps({"model": model, "messages": messages, **asked}, ensure_ascii=False).encode()
            yield Row(vendor, name, sending(vendor, partial(write, "POST", target, body)))


def _write(vendor: str, make: Callable[[], bytes]) -> bytes:
    return write("POST", CHATS[vendor][0], make())


def _pack(target: str, pack: Callable[[bytes], bytes], body: bytes, line: str) -> bytes:
    return write("POST", target, pack(body), line)
