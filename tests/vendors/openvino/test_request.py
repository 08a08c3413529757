"""Routing to graphs: bodies, models, paths, methods and keys."""

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.core.requests import Deployment
from emulator.vendors.openvino.profile import find_kind
from emulator.vendors.openvino.release import RELEASES
from emulator.vendors.openvino.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, CHAT, LATEST, SEED, Refusal, Server, failure, make_server, not_json

URL = Refusal(400, "Invalid request URL")
METHOD = Refusal(406, "Unsupported method")
MISSING = Refusal(404, "Mediapipe graph definition with requested name is not found")
MODEL = Refusal(404, "Model with requested name is not found")
BOTH = (SEED, LATEST)


@pytest.mark.covers("openvino/order of checks", "model, stream, graph")
@pytest.mark.covers("openvino/errors", "no JSON, no object, no model")
@pytest.mark.parametrize("server", [pytest.param(SEED, id="2025.0"), pytest.param(LATEST, id="2026.3")])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"not a json", "Cannot parse JSON body", id="a body that is not JSON"),
        pytest.param(b"", "Cannot parse JSON body", id="an empty body"),
        pytest.param(b'{"model":"llama3",stream: false}', "Cannot parse JSON body", id="a key without quotes"),
        pytest.param(b'{"model":"llama3",}', "Cannot parse JSON body", id="a trailing comma"),
        pytest.param(b'{"model":"llama3"} x', "Cannot parse JSON body", id="text after the object"),
        pytest.param(b'{"model":NaN}', "Cannot parse JSON body", id="NaN"),
        pytest.param(b'{"model":"\\ud800"}', "Cannot parse JSON body", id="half a surrogate pair"),
        pytest.param([1, 2, 3], "JSON body must be an object", id="an array"),
        pytest.param("text", "JSON body must be an object", id="a string"),
        pytest.param({}, "model field is missing in JSON body", id="no model"),
        pytest.param({"model": 2}, "model field is not a string", id="a model that is a number"),
        pytest.param({"model": None}, "model field is not a string", id="a model that is null"),
        pytest.param({**BASE, "stream": 2}, "stream field is not a boolean", id="a stream that is a number"),
        pytest.param({**BASE, "stream": "INVALID"}, "stream field is not a boolean", id="a stream that is a string"),
        pytest.param({"model": 2, "stream": 2}, "model field is not a string", id="the model comes before the stream"),
        pytest.param({"model": "x", "stream": 2}, "stream field is not a boolean", id="the stream before the graph"),
    ],
)
def test_body(server: Server, body: JSON, reason: str) -> None:
    assert server.refusal(body) == Refusal(412, not_json(reason))


@pytest.mark.covers("openvino/order of checks", "stream only by its path")
def test_stream_field_is_checked_only_on_completions_paths() -> None:
    body = {"model": "embeddings", "input": "a", "stream": 2}
    assert SEED.refusal(body, "/v3/embeddings") is None
    assert SEED.refusal(body, CHAT) == Refusal(412, not_json("stream field is not a boolean"))


@pytest.mark.parametrize("release", [*RELEASES])
def test_null_stream_is_rejected(release: str) -> None:
    quoted = '"stream" field' if release == "2024.2" else "stream field"
    expected = Refusal(412, not_json(f"{quoted} is not a boolean"))
    assert make_server(release).refusal({**BASE, "stream": None}) == expected
    assert (make_server(release).refusal({**BASE, "stream": None}, "/v3/x") == expected) is (release == "2024.2")


def test_2024_2_quotes_field_names() -> None:
    server = make_server("2024.2")
    assert server.refusal({}) == Refusal(412, not_json('"model" field is missing in JSON body'))
    assert server.refusal({"model": 1}) == Refusal(412, not_json('"model" field is not a string'))


@pytest.mark.covers("openvino/order of checks", "levels")
@pytest.mark.covers("openvino/errors", "too deep")
@pytest.mark.covers("openvino/cases", "8")
@pytest.mark.parametrize(
    ("text", "refused"),
    [
        pytest.param(b'{"a":' * 99 + b"1" + b"}" * 99, False, id="a hundred levels of objects"),
        pytest.param(b'{"a":' * 100 + b"1" + b"}" * 100, True, id="one object more"),
        pytest.param(b"[" * 200 + b"]" * 200, True, id="two hundred arrays"),
        pytest.param(b"[" + b"{}," * 200 + b"{}]", False, id="two hundred objects side by side"),
    ],
)
def test_nesting_limit(text: bytes, refused: bool) -> None:
    body = b'{"model":"llama3","messages":[{"role":"user","content":"hi"}],"deep":%b}' % text
    expected = Refusal(412, not_json("JSON body exceeds maximum nesting depth")) if refused else None
    assert LATEST.refusal(body) == expected
    assert SEED.refusal(body) is None


@pytest.mark.covers("openvino/numbers", "equal keys")
@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b'"max_tokens":9', id="side by side"),
        pytest.param(b'"user" :"a","max_tokens":9', id="with blanks before another colon"),
        pytest.param(b'"max_tokens"\r\n :9,"user":1', id="with a line break before its colon"),
        pytest.param(b'"user":"\\u0022:","max_tokens":9', id="with an escaped quotation mark"),
        pytest.param(b'"user":"\\"\\u003a","max_tokens":9', id="with an escaped colon"),
        pytest.param(b'"max_\\u0074okens":9', id="with an escaped letter"),
        pytest.param(b'"max_tokens":{"max_tokens":9}', id="with another inside"),
    ],
)
def test_first_of_duplicate_keys_applies(rest: bytes) -> None:
    head = b'{"model":"llama3","messages":[{"role":"user","content":"x"}],"max_tokens":3,'
    ask = SEED.call(head + rest + b',"model":"none"}').request
    assert ask.task == "chat"
    assert ask.sampling.max_tokens == 3


def test_key_like_text_is_not_duplicate_key() -> None:
    body = {**BASE, "messages": [{"role": "user", "content": '{"model":"none","model":2}'}]}
    assert SEED.call(body).request.prompt == '{"model":"none","model":2}'


@pytest.mark.parametrize("value", [b"1e999", b"-1E+400", b"[0,1e309]", b'"1e999 is no Infinity"'])
@pytest.mark.parametrize("name", [b"length_penalty", b"user"])
def test_number_beyond_double_is_invalid_json(name: bytes, value: bytes) -> None:
    body = b'{"model":"llama3","messages":[{"role":"user","content":"hi"}],"%b":%b}' % (name, value)
    refusal = SEED.refusal(body)
    if not value.startswith(b'"'):
        assert refusal == Refusal(412, not_json("Cannot parse JSON body"))
    elif name == b"user":
        assert refusal is None


@pytest.mark.covers("openvino/errors", "unknown, retired or loading")
@pytest.mark.parametrize("server", BOTH, ids=["2025.0", "2026.3"])
@pytest.mark.parametrize(
    ("model", "refusal"),
    [
        pytest.param("none", MISSING, id="unknown"),
        pytest.param("net", MISSING, id="a classic model"),
        pytest.param("retired", Refusal(404, "Mediapipe is retired"), id="retired"),
        pytest.param("loading", Refusal(500, "Mediapipe is not loaded yet"), id="still loading"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["unary", "stream"])
def test_graph(server: Server, model: str, refusal: Refusal, stream: bool) -> None:
    answer = server.send(CHAT, {**BASE, "model": model, "stream": stream})
    assert isinstance(answer, Response)
    assert ("content-type", "application/json; charset=utf-8") in answer.headers
    assert server.refusal({**BASE, "model": model, "stream": stream}) == refusal


@pytest.mark.covers("openvino/errors", "not generative")
@pytest.mark.covers("openvino/cases", "7")
def test_non_generative_graph_is_rejected() -> None:
    refusal = SEED.refusal({**BASE, "model": "image"})
    assert refusal is not None
    assert refusal.status == 412
    assert refusal.error.startswith("Failed to add packet to mediapipe graph input stream - ")


def test_2024_2_has_no_embeddings_graph() -> None:
    refusal = make_server("2024.2").refusal({"model": "embeddings", "input": "a"}, "/v3/embeddings")
    assert refusal == Refusal(404, "Model with requested name is not found")


_WRONG = "Wrong endpoint. Allowed endpoints: "
_OLD = failure(_WRONG + "/v3/chat/completions, /v3/completions")
_MIDDLE = failure(_WRONG + "/v3/chat/completions, /v3/completions, /v3/responses, /v3/tokenize")
_NEW = failure(_WRONG + "/v[13]/chat/completions, /v[13]/completions, /v[13]/responses, /v[13]/tokenize")


@pytest.mark.covers("openvino/routes", "POST v3/v1 alias", "POST v1 alias")
@pytest.mark.covers("openvino/errors", "another path")
@pytest.mark.covers("openvino/traps", "17 a trailing slash")
@pytest.mark.parametrize(
    ("release", "path", "refusal"),
    [
        pytest.param("2025.0", "/v3/v1/chat/completions", None, id="the alias v3/v1"),
        pytest.param("2024.2", "/v3/v1/chat/completions", Refusal(400, _OLD), id="the alias before it was one"),
        pytest.param("2025.0", "/v1/chat/completions", URL, id="the alias v1 before it was one"),
        pytest.param("2026.3", "/v1/chat/completions", None, id="the alias v1"),
        pytest.param("2025.0", "/v3/chat/completions/", Refusal(400, _OLD), id="a trailing slash"),
        pytest.param("2025.0", "/v3/embeddings", Refusal(400, _OLD), id="another endpoint's path"),
        pytest.param("2025.0", "/v3/", Refusal(400, _OLD), id="nothing after v3"),
        pytest.param("2026.2", "/v3/anything", Refusal(400, _MIDDLE), id="2026.2 names more endpoints"),
        pytest.param("2026.3", "/v3/anything", Refusal(400, _NEW), id="2026.3 names both roots"),
        pytest.param("2025.0", "/v3", URL, id="v3 without a slash"),
    ],
)
def test_path(release: str, path: str, refusal: Refusal | None) -> None:
    assert make_server(release).refusal(BASE, path) == refusal


@pytest.mark.covers("openvino/routes", "OPTIONS")
@pytest.mark.covers(
    "openvino/methods and unknown paths",
    "another method",
    "OPTIONS before 2025.3",
    "an unknown path",
    "POST where only GET is",
    "GET where only POST is",
    "GET on a generative path",
    "GET v3/models",
)
@pytest.mark.covers("openvino/traps", "15 odd statuses")
@pytest.mark.covers("openvino/cases", "106")
@pytest.mark.parametrize(
    ("method", "path", "old", "new"),
    [
        pytest.param("DELETE", CHAT, METHOD, METHOD, id="DELETE"),
        pytest.param("PUT", "/nowhere", METHOD, METHOD, id="PUT on an unknown path"),
        pytest.param("OPTIONS", CHAT, METHOD, None, id="OPTIONS"),
        pytest.param("OPTIONS", "/", METHOD, None, id="OPTIONS on the root"),
        pytest.param("GET", CHAT, URL, URL, id="GET on a generative path"),
        pytest.param("GET", "/", URL, URL, id="GET on the root"),
        pytest.param("GET", "/nowhere", URL, URL, id="an unknown path"),
        pytest.param("POST", "/nowhere", URL, URL, id="POST on an unknown path"),
        pytest.param("POST", "/v2", METHOD, METHOD, id="POST on the metadata"),
        pytest.param("POST", "/v2/health/live", METHOD, METHOD, id="POST on live"),
        pytest.param("POST", "/v2/health/ready", METHOD, METHOD, id="POST on ready"),
        pytest.param("POST", "/v2/models/m", METHOD, METHOD, id="POST on a model"),
        pytest.param("POST", "/v2/models/m/versions/1/ready", METHOD, METHOD, id="POST on a version's ready"),
        pytest.param("POST", "/metrics", METHOD, METHOD, id="POST on the metrics"),
        pytest.param("POST", "/v1/config", METHOD, METHOD, id="POST on the configuration"),
        pytest.param("POST", "/v1/models/m", METHOD, None, id="POST on a status, generative since 2026.3"),
        pytest.param("GET", "/v2/models/m/infer", METHOD, METHOD, id="GET on infer"),
        pytest.param("GET", "/v1/config/reload", METHOD, METHOD, id="GET on reload"),
        pytest.param("GET", "/v1/models/m:predict", METHOD, Refusal(500, "Model not found"), id="GET on predict"),
        pytest.param("POST", "/v1/models/m:predict", MODEL, None, id="POST on predict"),
        pytest.param("GET", "/v3/models", URL, None, id="the list of models"),
        pytest.param("GET", "/v3/models/", URL, URL, id="a model without a name"),
        pytest.param("GET", "/v2/models/m/metadata", URL, URL, id="a path KServe has elsewhere"),
        pytest.param("GET", "/v2/models/llama3/versions/x", URL, URL, id="a version that is no number"),
        pytest.param("GET", "/v1/models/llama3/status", URL, Refusal(500, "Model not found"), id="no such status"),
    ],
)
def test_method(method: str, path: str, old: Refusal | None, new: Refusal | None) -> None:
    body = None if method != "POST" else BASE
    assert SEED.refusal(body, path, method=method) == old
    if new is None and method == "POST":
        assert LATEST.refusal(body, path) == Refusal(400, _NEW)
    else:
        assert LATEST.refusal(body, path, method=method) == new


@pytest.mark.covers("openvino/methods and unknown paths", "a path that climbs")
@pytest.mark.parametrize("path", ["/v3/../x", "/v3/x/..", "/v2/models/../ready", "/.."])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_path_with_parent_segments_is_rejected(path: str, method: str) -> None:
    text = "The provided base path is invalid or doesn't exists"
    assert SEED.refusal(BASE, path, method=method) == Refusal(400, text)


_ROUTED = failure("Non-json request received in text generation calculator", "llmNode1")


@pytest.mark.covers("openvino/errors", "no model", "content types")
@pytest.mark.covers("openvino/releases", "content type and URI")
@pytest.mark.parametrize(
    ("path", "kind", "refusal"),
    [
        pytest.param(CHAT, "text/plain", MISSING, id="text routed by its path"),
        pytest.param("/v3/my/graph", "text/plain", Refusal(400, _ROUTED), id="text for a text graph"),
        pytest.param(
            "/v3/embeddings",
            "",
            Refusal(400, failure("Non-json request received in embeddings calculator", "EmbeddingsExecutor")),
            id="no type for an embeddings graph",
        ),
        pytest.param(
            "/v1/rerank",
            "text/plain",
            Refusal(400, failure("Non-json request received in rerank calculator", "RerankExecutor")),
            id="text for a rerank graph",
        ),
        pytest.param(
            "/v3/",
            "text/plain",
            Refusal(500, "Failed to deduce model name from all possible ways"),
            id="no graph in the path",
        ),
        pytest.param(CHAT, "application/json; charset=utf-8", None, id="JSON with a parameter"),
        pytest.param(
            CHAT,
            "multipart/form-data",
            Refusal(500, "Request of multipart type but failed to parse"),
            id="a form without a boundary",
        ),
    ],
)
def test_content_type(path: str, kind: str, refusal: Refusal | None) -> None:
    assert LATEST.refusal(BASE, path, headers={"Content-Type": kind}) == refusal
    if path == CHAT:
        assert SEED.refusal(BASE, path, headers={"Content-Type": kind}) is None


@pytest.mark.covers("openvino/errors", "forms by their model")
def test_multipart_form_selects_graph_by_model_field() -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nmy/graph\r\n--x--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert LATEST.refusal(form, "/v3/anything", headers=kind) == Refusal(400, _ROUTED)
    assert LATEST.refusal(form.replace(b"my/graph", b"none"), "/v3/anything", headers=kind) == MISSING


def test_empty_model_is_not_found() -> None:
    assert make_server("2025.2").refusal({**BASE, "model": ""}) == MISSING
    assert SEED.refusal({**BASE, "model": ""}) == MISSING


_KEYS = {"1234": "search"}
_UNAUTHORIZED = "Unauthorized request due to invalid or missing api-key"


@pytest.mark.covers("openvino/authentication and CORS", "Bearer and one space")
@pytest.mark.covers("openvino/errors", "a wrong key")
@pytest.mark.covers("openvino/cases", "101")
@pytest.mark.parametrize(
    ("release", "header", "status"),
    [
        pytest.param("2026.3", "Bearer 1234", None, id="the right key"),
        pytest.param("2026.3", "Bearer ABCD", 500, id="a wrong key is a 500"),
        pytest.param("2026.3", "bearer 1234", 500, id="the scheme's case matters"),
        pytest.param("2026.3", "Bearer  1234", 500, id="one space only"),
        pytest.param("2026.3", "1234", 500, id="no scheme"),
        pytest.param("2026.3", None, 500, id="no key"),
        pytest.param("2025.4", None, 500, id="the first release with keys"),
        pytest.param("2025.3", None, None, id="the last without"),
        pytest.param("2025.0", "Bearer ABCD", None, id="2025.0 asks for none"),
    ],
)
def test_key(release: str, header: str | None, status: int | None) -> None:
    server = make_server(release, keys=_KEYS)
    expected = None if status is None else Refusal(status, _UNAUTHORIZED)
    assert server.refusal(BASE, headers={"Authorization": header} if header else None) == expected


@pytest.mark.covers("openvino/authentication and CORS", "before the body")
def test_key_is_checked_before_body() -> None:
    assert make_server("latest", keys=_KEYS).refusal(b"{") == Refusal(500, _UNAUTHORIZED)


@pytest.mark.covers("openvino/authentication and CORS", "no keys before 2025.4")
@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        pytest.param("/v1/config/reload", None, id="a reload"),
        pytest.param("/v1/config", Refusal(406, "Unsupported method"), id="no route"),
        pytest.param("/v2/models/none/infer", Refusal(400, "Invalid JSON structure, missing inputs"), id="inference"),
        pytest.param(
            "/v3/../x", Refusal(400, "The provided base path is invalid or doesn't exists"), id="a path upward"
        ),
    ],
)
def test_other_post_routes_need_no_key(path: str, refusal: Refusal | None) -> None:
    assert make_server("latest", keys=_KEYS).refusal(BASE, path) == refusal


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(CHAT, BASE, id="chat"),
        pytest.param("/v3/completions", {"model": "llama3", "prompt": "x", "stream": True}, id="completions"),
        pytest.param("/v3/responses", {"model": "llama3", "input": "x"}, id="responses"),
        pytest.param("/v3/embeddings", {"model": "embeddings", "input": "x"}, id="embeddings"),
        pytest.param("/v3/rerank", {"model": "rerank", "query": "x", "documents": ["y"]}, id="rerank"),
    ],
)
def test_parsed_call_is_independent_of_client_headers(path: str, body: JSON) -> None:
    calls = []
    own = {**body, "metadata": {"of": "this test"}}  # options seen twice before have a codec that is prepared for more
    for session in ("a", "b"):
        headers = {"X-Session": session, "Authorization": f"Bearer {session}"}
        answer = LATEST.send(path, own, headers=headers)
        assert isinstance(answer, InferenceCall)
        assert answer.repeatable
        calls.append((answer.request, answer.prompt_tokens, answer.stream, answer.codec))
    assert calls[0] == calls[1]
    assert VENDOR.relevant_headers == ("Content-Type", "Inference-Header-Content-Length")


@pytest.mark.covers("openvino/authentication and CORS", "500 or a switch")
@pytest.mark.covers("openvino/decisions", "18 a wrong key")
def test_unauthorized_status_is_configurable() -> None:
    server = make_server("latest", keys=_KEYS, unauthorized_status=401)
    assert server.refusal(BASE) == Refusal(401, _UNAUTHORIZED)


@pytest.mark.covers("openvino/authentication and CORS", "generation alone")
@pytest.mark.parametrize("path", ["/v3/models", "/v1/config", "/v2", "/v2/health/live", "/v2/models/llama3"])
def test_get_routes_need_no_key(path: str) -> None:
    assert make_server("latest", keys=_KEYS).refusal(None, path, method="GET") is None


@pytest.mark.covers("openvino/authentication and CORS", "three headers")
def test_cors_headers() -> None:
    names = ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers"]
    server = make_server("2025.3", allowed_origins="http://here", allow_credentials=True)
    refused = server.send(CHAT, b"{")
    assert isinstance(refused, Response)
    assert dict(refused.headers) == {
        "content-type": "application/json; charset=utf-8",
        **dict(zip(names, ["http://here", "*", "*"], strict=True)),
        "access-control-allow-credentials": "true",
    }
    options = LATEST.send(CHAT, method="OPTIONS")
    assert isinstance(options, Response)
    assert (options.status, options.body) == (200, b"")
    plain = SEED.send(CHAT, b"{")
    assert isinstance(plain, Response)
    assert not [name for name, _ in plain.headers if name in names]


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        ("llm", "text"),
        ("vlm", "vision"),
        ("image_generation", "image"),
        ("speech2text", "stt"),
        ("tts", "tts"),
        ("", "text"),
    ],
)
def test_kind_aliases(kind: str, same: str) -> None:
    assert find_kind(Deployment(vendor="openvino", name="x", kind=kind)) == same


def test_graph_kind_defaults_to_task() -> None:
    assert find_kind(Deployment(vendor="openvino", name="x", task="rerank")) == "rerank"


@pytest.mark.covers("openvino/routes", "POST v3/anything")
def test_graph_determines_task_of_path() -> None:
    assert SEED.refusal({**BASE, "model": "embeddings"}) == Refusal(
        400, failure("input field is required", "EmbeddingsCalculator")
    )
    for path in ("/v3/rerank", "/v3/v1/rerank", "/v3/v2/rerank"):
        answer = SEED.send(path, {"model": "rerank", "query": "a", "documents": ["a"]})
        assert isinstance(answer, InferenceCall)
