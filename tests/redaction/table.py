"""Requests with one credential each: every name, at every place, in every form."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

HEADERS = (
    *("Proxy-Authorization", "X-Forwarded-Authorization", "x-ms-authorization-auxiliary", "api-key", "X-API-Key"),
    *("x-goog-api-key", "Ocp-Apim-Subscription-Key", "x-functions-key", "x-auth-key", "x-litellm-key", "x-app-key"),
    *("X-Auth-Token", "x-amz-security-token", "Private-Token", "x-session-token-value", "x-emulator-token", "session"),
    *("x-hub-signature-256", "x-csrftoken", "X-XSRF-TOKEN", "x-pass", "x-db-password", "helicone-auth", "x-otp"),
    *("x-ms-client-principal", "x-forwarded-client-cert", "cf-access-client-secret", "cf-access-jwt-assertion"),
)
SCHEMES = (
    *("Bearer {}", "Bearer {} extra", "bearer  {}", "Token token={}", 'Token token="{}"', "ApiKey {}", "{}", "$({}) x"),
    *('Digest username="u", realm="r", response="{}", uri="/"', 'Digest response="{}"', "Negotiate {}", "unknown {} x"),
    "AWS4-HMAC-SHA256 Credential={0}/20260101, SignedHeaders=host, Signature={0}",
    *("AWS4-HMAC-SHA256 Signature={}, SignedHeaders=host", 'Hawk id="a", mac="{}", ts="1"', "SharedKey account:{}"),
    *('OAuth oauth_token="{0}",oauth_signature="{0}"', "{} Bearer x"),
)
COOKIES = ("sid={}", "sid={}; theme=dark", "theme=dark; sid={}", '__Host-s="{}"; a=b', "{}", "a=b;sid={}")
FIELDS = (
    *(
        "key",
        "sig",
        "code",
        "pwd",
        "pass",
        "password",
        "auth_key",
        "apitoken",
        "api_key",
        "apiKey",
        "hmac",
        "session_id",
    ),
    *("SAMLResponse", "X-Amz-Credential", "X-Amz-Signature", "access_token", "client_secret", "clientSecret", "token"),
    *("code_verifier", "client_assertion", "device_code", "refresh_token", "user[password]", "id_token_hint"),
)
MEMBERS = (
    *("client_secret", "clientSecret", "secret", "token", "private_key", "privateKey", "assertion", "device_code"),
    *("openai_api_key_plaintext", "password", "passwd", "api_key", "apiKey", "APIKey", "access_token", "id_token"),
    *("authorization", "connection_string", "connectionString", "encoded_api_key", "webhookSecret", "auth-token"),
    *(
        "aws_secret_access_key",
        "subscription_key",
        "credentials",
        "auth",
        "cookie",
        "signature",
        "db.password",
        "x-pwd",
    ),
)
VARIABLES = ("OPENAI_API_KEY", "DB_PASSWORD", "HF_TOKEN", "SIGNING_KEY", "AWS_SECRET_ACCESS_KEY", "LITELLM_KEY")
TOOL_HEADERS = (
    *(
        "X-Auth-Token",
        "Ocp-Apim-Subscription-Key",
        "Cookie",
        "x-goog-api-key",
        "Authorization",
        "x-auth-key",
        "session",
    ),
)
URLS = (
    *(
        "https://u:{}@h/",
        "https://{}@h/p",
        "https://h/?token={}",
        "https://h/?a=b&access_token={}#x",
        "//h/?api_key={}",
    ),
    *("https://h/blob?sv=1&sig={}", "https://h/#access_token={}", "https://h/?X-Amz-Signature={}&X-Amz-Date=1"),
    *("postgres://user:{}@db:5432/x", "/relative?password={}", "https://h/?next=https%3A%2F%2Fu%3A{}%40i%2F"),
    *("https://h/?next=%2Fa%3Ftoken%3D{}", "Endpoint=sb://h/;SharedAccessKey={}", "see https://u:{}@h/ and others"),
)
_JSON_FORMS = {  # of a member with a credential as its value
    "plain": '{{"{name}": "{secret}"}}',
    "a line break before": '\n{{"{name}": "{secret}"}}',
    "a blank before": ' {{"{name}" : "{secret}"}}',
    "a mark before": '\ufeff{{"{name}": "{secret}"}}',
    "inside": '{{"extra_body": {{"custom_inputs": [{{"{name}": "{secret}"}}]}}}}',
    "a list of them": '{{"{name}": ["{secret}", {{"value": "{secret}"}}]}}',
    "in a text": '{{"arguments": "{{\\"{name}\\": \\"{secret}\\"}}"}}',
    "a text in a text": '{{"a": "{{\\"b\\": \\"{{\\\\\\"{name}\\\\\\": \\\\\\"{secret}\\\\\\"}}\\"}}"}}',
    "escapes": '{{"{escaped}": "{secret}"}}',
    "cut off": '{{"prompt": "Hi", "{name}": "{secret}',
    "broken": '{{"prompt": oops, "{name}": "{secret}",,',
    "a quote in it": '{{"{name}": "\\"{secret}"}}',
    "a pair": '{{"headers": [{{"name": "{name}", "value": "{secret}"}}]}}',
    "a pair the other way": '[{{"value": "{secret}", "key": "{name}"}}]',
    "a list of pairs": '{{"x": [["{name}", "{secret}"]]}}',
}


@dataclass(frozen=True, slots=True)
class Row:
    """One request; ``marker`` is the part of its credential that must not appear."""

    name: str
    marker: str
    target: str = "/echo"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media: str = "application/json"


def _escape(name: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" if place % 3 == 1 else letter for place, letter in enumerate(name))


def _forms() -> Iterator[tuple[str, Mapping[str, object]]]:
    """Name and parts of each request, with ``{}`` where the credential goes."""
    yield from ((f"header {name}", {"headers": {name: "{}"}}) for name in HEADERS)
    yield from ((f"header {name}: Bearer", {"headers": {name: "Bearer {}"}}) for name in HEADERS)
    yield from ((f"authorization {form}", {"headers": {"Authorization": form}}) for form in SCHEMES)
    yield from ((f"cookie {form}", {"headers": {"Cookie": form}}) for form in COOKIES)
    for name in ("Referer", "X-Original-URL", "x-forwarded-uri"):
        yield from ((f"{name} {url}", {"headers": {name: url}}) for url in URLS)
    yield from ((f"query {name}", {"target": f"/echo?a=b&{quote(name)}={{}}"}) for name in FIELDS)
    yield from ((f"query url {url}", {"target": f"/echo?next={{url:{url}}}"}) for url in URLS)
    for name in FIELDS:
        yield f"form {name}", {"form": f"a=b&{quote(name)}={{}}&c=d"}
        yield f"form {name} first", {"form": f"{name}={{}}"}
        yield f"multipart {name}", {"part": name}
    for name in MEMBERS:
        yield from ((f"JSON {name} {form}", {"json": (text, name)}) for form, text in _JSON_FORMS.items())
    for name in VARIABLES:
        yield f"variable {name}", {"value": {"environment_vars": {name: "{}"}}}
        yield f"variable {name}, listed", {"value": {"env": [f"{name}={{}}"]}}
    for name in TOOL_HEADERS:
        yield f"tool header {name}", {"value": {"tools": [{"type": "mcp", "headers": {name: "a={}"}}]}}
        yield f"tool header {name}, listed", {"value": {"headers": [f"{name}: {{}}"]}}
    yield from ((f"tool URL {url}", {"value": {"tools": [{"type": "mcp", "server_url": url}]}}) for url in URLS)
    for holder in ("credentials", "authentication", "connection"):
        yield f"{holder} with a key", {"value": {holder: {"type": "ApiKey", "key": "{}"}}}
    yield "a source of data", {"value": {"data_sources": [{"authentication": {"type": "api_key", "key": "{}"}}]}}


def _make(number: int, name: str, parts: Mapping[str, object]) -> Row:
    marker = f"MARK{number:04d}ED"
    secret = f"zqx{number % 10}-{marker}-tail"

    def fill(text: str) -> str:
        return text.replace("{0}", secret).replace("{}", secret)

    headers = parts.get("headers")
    if isinstance(headers, dict):
        return Row(name, marker, headers={key: fill(value) for key, value in headers.items()})
    target = parts.get("target")
    if isinstance(target, str):
        head, url, tail = target.partition("{url:")
        return Row(name, marker, target=head + quote(fill(tail[:-1]), safe="") if url else fill(target))
    form = parts.get("form")
    if isinstance(form, str):
        return Row(name, marker, body=fill(form).encode(), media="application/x-www-form-urlencoded")
    if "part" in parts:
        part = f'--b\r\nContent-Disposition: form-data; name="{parts["part"]}"\r\n\r\n{secret}\r\n--b--\r\n'
        return Row(name, marker, body=part.encode(), media="multipart/form-data; boundary=b")
    written = parts.get("json")
    if isinstance(written, tuple):
        text, member = written
        return Row(name, marker, body=text.format(name=member, escaped=_escape(member), secret=secret).encode())
    return Row(name, marker, body=fill(json.dumps(parts["value"])).encode())


ROWS = [_make(number, name, parts) for number, (name, parts) in enumerate(_forms())]
_PASSWORD = "zqx-MARK9999ED-tail"
_BASIC = b64encode(f"client:{_PASSWORD}".encode()).decode()
ROWS.append(Row("authorization Basic", _BASIC[8:24], headers={"Authorization": f"Basic {_BASIC}"}))
