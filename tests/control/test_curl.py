"""Tests that the curl line of console and report repeats the request and does nothing else."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from emulator.cli.quoting import quote
from emulator.control.serialize import find_raw, show_body
from tests.shells import ODD, SHELLS, TOKEN, Ground
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

BASE = "http://127.0.0.1:4011"
SCRIPT = files("emulator.control.console").joinpath("curl.js").read_text(encoding="utf-8")
_READ = "JSON.parse(require('fs').readFileSync(0, 'utf8'))"

BYTES = st.binary(max_size=12).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
LETTERS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TEXTS = st.one_of(st.lists(st.sampled_from(ODD), max_size=6).map("".join), LETTERS, BYTES)
NAMES = st.from_regex(r"[!#$%&'*+.^_`|~0-9a-z-]{1,12}", fullmatch=True)
SECRETS = st.sampled_from(["authorization", "api-key", "x-api-key"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), LETTERS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(LETTERS, inner, max_size=3)),
    max_leaves=8,
)
BODIES = st.one_of(
    st.just(b""),
    st.binary(min_size=1, max_size=30),
    TEXTS.map(lambda text: text.encode("utf-8", "surrogateescape")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    VALUES.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()),
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[JSON, bytes]:
    """Return a journal entry and its body as received."""
    body = draw(BODIES)
    headers = draw(st.dictionaries(st.one_of(NAMES, SECRETS), TEXTS, max_size=5))
    return make_call(
        draw(st.one_of(st.sampled_from(["GET", "POST"]), TEXTS.filter(bool))),
        "/" + draw(TEXTS),
        {key: value for key, value in draw(st.dictionaries(LETTERS, LETTERS, max_size=2)).items() if "\0" not in key},
        headers,
        body,
    ), body


def make_call(method: str, path: str, query: JSON, headers: JSON, body: bytes, session: str = "") -> JSON:
    shown, is_base64 = show_body(body, cut=False)
    raw = None if is_base64 or not body else find_raw(body, shown)
    encoding = "base64" if is_base64 else None
    request = {"query": query, "headers": headers, "body": shown, "raw": raw, "encoding": encoding, "cut": False}
    return {"method": method, "path": path, "session": session, "request": request}


def run_script(expression: str, data: JSON) -> JSON:
    """Evaluate an expression over the script and ``data``."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    script = f"{SCRIPT}\nconst data = {_READ};\nprocess.stdout.write(JSON.stringify({expression}));"
    done = subprocess.run([node, "-e", script], input=json.dumps(data).encode(), capture_output=True, check=True)
    return json.loads(done.stdout)


def word_lines(given: Sequence[JSON]) -> list[str]:
    lines: list[str] = run_script(f"data.map((call) => curlLine(call, {json.dumps(BASE)}))", list(given))
    return lines


_LEFT = re.compile(
    r"host|content-length|accept-encoding|connection|user-agent|accept|x-stainless.*|baggage|traceparent|x-emulator-session"
)
_SCHEME = re.compile(r"(?:basic|bearer|digest|token|apikey) ", re.IGNORECASE)


def expect_header(name: str, value: str) -> str:
    if name in ("authorization", "api-key", "x-api-key"):
        scheme = _SCHEME.match(value)
        return f"{name}: {scheme[0] if scheme else ''}{TOKEN}"
    return f"{name}: {value}" if value else f"{name};"


def check_words(call: JSON, body: bytes, words: list[bytes]) -> None:
    """Check that the arguments of curl give the request, byte for byte."""
    texts = [word.decode("utf-8", "surrogateescape") for word in words]
    assert texts.pop(0) == "-N"
    if texts[0] == "--path-as-is":
        texts.pop(0)
    assert texts[:2] == ["-X", call["method"]]
    path, _, query = texts[2].removeprefix(BASE).partition("?")
    assert texts[2].startswith(BASE)
    assert re.fullmatch(r"[A-Za-z0-9._~!$&()*+,;=:@/%-]*", path)
    assert unquote(path, errors="surrogateescape") == call["path"]
    assert dict(parse_qsl(query, keep_blank_values=True)) == call["request"]["query"]
    headers = call["request"]["headers"]
    wanted = [expect_header(name, value) for name, value in headers.items() if not _LEFT.fullmatch(name)]
    wanted += [f"x-emulator-session: {call['session']}"] if call["session"] else []
    wanted += ["content-type:"] if body and "content-type" not in headers else []
    given = texts[3 : 3 + 2 * len(wanted)]
    assert given[::2] == ["-H"] * len(wanted)
    assert sorted(given[1::2]) == sorted(wanted)  # JavaScript moves names that are numbers to the front
    assert texts[3 + 2 * len(wanted) : -2] == []
    if body:
        assert texts[-2] in ("--data-raw", "--data-binary")
        if texts[-2] == "--data-raw":
            assert words[-1] == body
    else:
        assert len(texts) == 3 + 2 * len(wanted)


def check_lines(ground: Ground, shell: str, given: Sequence[tuple[JSON, bytes]]) -> None:
    lines = word_lines([call for call, _ in given])
    written = ground.run(shell, "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n")
    for call, body in given:
        end = written.index(b"END")
        words, sent = written[:end], written[end + 1]
        written = written[end + 2 :]
        if words[-2:] == [b"--data-binary", b"@-"]:
            assert base64.b64decode(sent) == body
        check_words(call, body, words)
    assert written == []


AUTHORIZATIONS = {
    "$(id>pwned) x": "",
    "$(touch${IFS}f) x": "",
    "`touch f` y": "",
    '"; touch f; " z': "",
    "Bearer dapi\u2026": "Bearer ",
    "Basic ab\u2026": "Basic ",
    "bearer a": "bearer ",
    "Bearer": "",
    "Bearer$(touch f) a": "",
    "\nBearer a": "",
}
REVIEWED = [
    (make_call("POST", "/a", {}, {name: value, "content-type": "application/json"}, b"{}"), b"{}")
    for value in AUTHORIZATIONS
    for name in ("authorization", "api-key", "x-api-key")
]
PLACES = [
    *((make_call(odd, "/a", {}, {}, b""), b"") for odd in ODD),
    *((make_call("POST", f"/{odd}/../{odd}", {odd: odd}, {"x-a": odd}, b"", odd), b"") for odd in ODD),
    *((make_call("POST", "/a", {}, {}, body), body) for odd in ODD for body in (odd.encode(), json.dumps(odd).encode())),  # noqa: E501
    *((make_call("POST", "/a", {}, {}, body), body) for body in (b"a\0b", b"\xff\0", b'"hi"', b" {}", b"[1.0]", b"1e5")),  # noqa: E501
    *((make_call("POST", "/a", {}, {}, body), body) for body in (b'{"2":1,"1":2}', b'{"a":12345678901234567890}')),
    *((make_call("POST", "/a", {}, {}, body), body) for body in (b'{"a":1,"a":2}', b'"\\u00e9"', b"null", b"false")),
]  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=4, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(made=st.lists(calls(), min_size=5, max_size=15))
@example(made=REVIEWED)
@example(made=PLACES)
def test_curl_line_repeats_call(
    tmp_path_factory: pytest.TempPathFactory, shell: str, made: list[tuple[JSON, bytes]]
) -> None:
    check_lines(Ground(tmp_path_factory.mktemp("shell")), shell, made)


@pytest.mark.parametrize(("value", "scheme"), AUTHORIZATIONS.items())
def test_authorization_scheme_is_shown_before_token(value: str, scheme: str) -> None:
    (line,) = word_lines([make_call("POST", "/a", {}, {"authorization": value}, b"")])
    assert line.endswith(f"-H 'authorization: {scheme}'\"$TOKEN\"")


def test_invalid_header_names_are_omitted() -> None:
    """Check that a header that begins with ``@`` is not read as a file by curl."""
    names = ["@/etc/passwd", "a b", "", "a:b", "\u00e9", "a\nb"]
    (line,) = word_lines([make_call("POST", "/a", {}, dict.fromkeys(names, "v"), b"")])
    assert line == f"curl -N -X POST {BASE}/a"


def test_truncated_body_is_noted() -> None:
    call = make_call("POST", "/a", {}, {}, b"{}")
    call["request"]["cut"] = True
    assert word_lines([call])[0].startswith(": 'of the body only the beginning is kept'\ncurl -N")


@given(texts=st.lists(TEXTS, min_size=100, max_size=200))
@example(texts=[*ODD, *(one + other for one in ODD for other in ODD)])
def test_python_and_page_quote_alike(texts: list[str]) -> None:
    assert run_script("data.map(quote)", texts) == [quote(text) for text in texts]
