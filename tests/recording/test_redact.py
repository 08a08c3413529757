"""Credentials of recorded calls: none reaches the disk."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from emulator.http.connection import IncomingRequest
from emulator.recording.exchange import load_folder
from emulator.recording.redact import Secrets, redact_parts, redact_target
from tests.recording.servers import recording, serving

HEX, WORD = "0123456789abcdef" * 4, "AbC1dEf2GhI3jKl4MnO5pQr6StU7vWx8YzA9" * 3
JWT = f"eyJ{WORD[:20]}.eyJ{WORD[20:60]}.{WORD[:30]}"
KINDS = {
    "databricks": f"dapi{HEX[:32]}",
    "databricks-2": f"dapi{HEX[:32]}-2",
    "databricks-oauth": f"dose{HEX[:32]}",
    "openai": f"sk-{WORD[:48]}",
    "openai-project": f"sk-proj-{WORD[:60]}",
    "anthropic": f"sk-ant-api03-{WORD[:80]}",
    "azure": f"{WORD[:52]}JQQJ99{WORD[:20]}",
    "entra": f"abc8Q~{WORD[:34]}",
    "hugging-face": f"hf_{WORD[:34]}",
    "github": f"ghp_{WORD[:36]}",
    "gitlab": f"glpat-{WORD[:20]}",
    "aws": "AKIAABCDEFGHIJKLMNOP",
    "google": f"AIza{WORD[:35]}",
    "google-oauth": f"ya29.{WORD[:40]}",
    "slack": f"xoxb-{WORD[:30]}",
    "groq": f"gsk_{WORD[:40]}",
    "nvidia": f"nvapi-{WORD[:40]}",
    "sendgrid": f"SG.{WORD[:22]}.{WORD[:43]}",
    "jwt": JWT,
    "stripe": f"sk_live_{WORD[:30]}",
    "npm": f"npm_{WORD[:36]}",
    "openrouter": f"sk-or-v1-{HEX[:64]}",
}
Plant = Callable[[str], tuple[str, dict[str, str], bytes]]


def in_json(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()


PLACES: dict[str, Plant] = {
    "bearer": lambda s: ("/v1", {"Authorization": f"Bearer {s}"}, b"{}"),
    "key": lambda s: ("/v1", {"api-key": s, "x-echo": f"the key is {s}"}, b"{}"),
    "cookie": lambda s: ("/v1", {"Cookie": f"a={s}; b={s}"}, b"{}"),
    "path": lambda s: (f"/v1/{quote(s)}/{s}", {"api-key": s}, b"{}"),
    "query in the path": lambda s: (f"/v1/{quote(f'sv=1&sig={quote(s)}&se=2', safe='')}/a", {}, b"{}"),
    "query": lambda s: (f"/v1?a=1&sig={quote(s)}&q={quote(s)}", {}, b"{}"),
    "member": lambda s: ("/v1", {}, json.dumps({"client_secret": s, "note": "n"}).encode()),
    "prompt": lambda s: ("/v1", {}, in_json(f"my key is {s}, keep it")),
    "document in a string": lambda s: ("/v1", {}, in_json(json.dumps({"arguments": {"password": s}}))),
    "base64": lambda s: ("/v1", {}, in_json(base64.b64encode(f"key={s}".encode()).decode())),
    "base64 after a letter": lambda s: ("/v1", {}, in_json(base64.b64encode(f"k{s}".encode()).decode())),
    "basic": lambda s: (
        "/v1",
        {"Authorization": "Basic " + base64.b64encode(f"user:{s}".encode()).decode()},
        in_json(s),
    ),
    "form": lambda s: (
        "/v1",
        {"Content-Type": "application/x-www-form-urlencoded"},
        f"grant_type=client_credentials&client_secret={quote(s)}&scope=a".encode(),
    ),
    "page": lambda s: ("/v1", {}, f"<a href='https://u:{s}@h/?a={s}'>{s}</a>".encode()),
    "multipart": lambda s: (
        "/v1",
        {"Content-Type": "multipart/form-data; boundary=b"},
        f'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n{s}\r\n--b--\r\n'.encode(),
    ),
}


def _name(text: str) -> str:
    """A text as the name of a file has it."""
    return re.sub("[^a-z0-9]+", "-", text.lower())[:40]


async def echo(http: IncomingRequest) -> bool:
    """Answer with the body and the credentials of the request, in a stream that splits them."""
    body = (await http.read(2**20)).decode()
    said = body + http.head.headers.get("Authorization", "") + http.head.headers.get("x-echo", "")
    http.connection.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        b"Set-Cookie: session=" + HEX.encode() + b"\r\n\r\n"
    )
    for start in range(0, len(said), 7):
        event = f"data: {json.dumps({'choices': [{'delta': {'content': said[start : start + 7]}}]})}\n\n".encode()
        http.connection.write(b"%x\r\n%b\r\n" % (len(event), event))
    http.connection.write(b"0\r\n\r\n")
    return True


def read_streams(folder: Path) -> str:
    """What the recorded streams say, their events joined."""
    events = (line for each in load_folder(folder) for line in each.body.decode().split("\n"))
    return "".join(json.loads(line[6:])["choices"][0]["delta"]["content"] for line in events if line)


async def test_planted_credentials_stay_off_the_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """22 kinds of credential in 15 places, and again in the response, split over its events: 330 calls."""
    caplog.set_level("DEBUG", "emulator")
    async with (
        serving(echo) as url,
        recording({"databricks": url}, tmp_path) as server,
        aiohttp.ClientSession() as client,
    ):
        for secret in KINDS.values():
            for plant in PLACES.values():
                target, headers, body = plant(secret)
                async with client.post(server.urls["databricks"] + target, data=body, headers=headers) as response:
                    await response.read()
    text = "".join(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*"))
    text += read_streams(tmp_path) + caplog.text + "".join(file.name for file in tmp_path.rglob("*"))
    assert len(load_folder(tmp_path)) == len(KINDS) * len(PLACES)
    left = [(kind, form) for kind, s in KINDS.items() for form in (s, quote(s), s[6:], _name(s)) if form in text]
    left += [
        (kind, before)
        for kind, s in KINDS.items()
        for before in ("key=", "k")
        if base64.b64encode(f"{before}{s}".encode()).decode()[:40] in text
    ]
    assert not left
    assert HEX not in text


@pytest.mark.parametrize("end", ["", "[DONE]", '{"t": "left open', "[1, 2"])
@pytest.mark.parametrize("form", ['{"t": "%s"}', '{"t": "%s", ', '{"a": [{"t": "%s"}]}', '["%s"]', '{"\\u0074": "%s"}'])
def test_split_token_is_found_beside_lines_that_are_no_json(form: str, end: str) -> None:
    secret = KINDS["anthropic"]
    events = [form % part for part in (secret[:9], secret[9:20], secret[20:])]
    data = [f"data: {event}\n\n".encode() for event in [*events, *([end] if end else [])]]
    done = b"".join(redact_parts(data, secrets := Secrets(), "body"))
    assert secrets.elsewhere == 1
    assert secret[9:20].encode() not in done
    assert done.endswith(f"{end}\n\n".encode())


def test_token_at_the_edge_of_a_window_waits() -> None:
    secret = KINDS["anthropic"]
    events = [
        f"data: {json.dumps({'t': part})}\n\n".encode()
        for part in ["word " * 20, secret[:40], secret[40:] + "; that is all", "end"]
    ]
    secrets = Secrets()
    assert redact_parts(events[:2], secrets, "body", keep=1) == events[:1]
    assert b"".join(redact_parts(events[1:], secrets, "body")) == (
        'data: {"t": "sk-a…"}\n\ndata: {"t": "; that is all"}\n\ndata: {"t": "end"}\n\n'.encode()
    )


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn and task-force",
        "a" * 300,
        "0123456789abcdef" * 8,
        '{"max_tokens": 5, "token": "a", "logprob": 1}',
        "Basic understanding of everything",
    ],
)
def test_text_without_credentials_stays(text: str) -> None:
    secrets = Secrets()
    assert redact_parts([text.encode()], secrets, "body") == [text.encode()]
    assert not secrets.total


@pytest.mark.parametrize("times", [1, 2, 3])
def test_query_in_a_path_is_redacted_however_often_it_is_encoded(times: int) -> None:
    segment = "https://h/c?sp=r&sig=abcDEF123%2Fghi&se=1"
    for _ in range(times):
        segment = quote(segment, safe="")
    shown = redact_target(f"/a/{segment}/b%20c", secrets := Secrets())
    assert "DEF123" not in shown
    assert shown.startswith("/a/https%")
    assert shown.endswith("/b%20c")
    assert secrets.places == ["path"]


def test_credential_of_a_query_in_a_path_is_cut_elsewhere_too() -> None:
    secrets = Secrets()
    redact_target("/proxy/https%3A%2F%2Fh%2Fv1%3Fapi-key%3Dplainsecret99", secrets)
    assert redact_parts([b"you sent plainsecret99"], secrets, "body") == [b"you sent plai\xe2\x80\xa6"]


@pytest.mark.parametrize("target", ["/files/key%3Dreport", "/a%3Fb/c", "/%7B%22q%22%3A1%7D?code=", "/100%25/pin%3D1"])
def test_path_without_a_query_in_it_stays(target: str) -> None:
    assert redact_target(target, secrets := Secrets()) == target
    assert not secrets.total
