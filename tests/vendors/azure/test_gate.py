"""What happens before a model sees a request."""

import pytest
from multidict import CIMultiDict

from emulator.core.call import ChatAsk
from emulator.core.json import JSON
from emulator.core.vendor import Call
from emulator.core.wire import WireResponse
from emulator.server.routing import Router
from emulator.vendors.azure import VENDOR
from tests.conftest import Start
from tests.vendors.azure.service import (
    CHAT,
    HELLO,
    VERSION,
    Refused,
    accept,
    chat,
    make_request,
    refuse,
    send,
    serve,
)

FIRST = "mistral-small-2503"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"api-key": "k"}, id="a key"),
        pytest.param({"api-key": "", "Authorization": "Bearer k"}, id="a key as a token"),
        pytest.param({"api-key": "", "Authorization": "bearer eyJ0.eyJ1.sig"}, id="a token, any case of its scheme"),
        pytest.param({"api-key": "0000", "Authorization": "Bearer k"}, id="one of both is right"),
    ],
)
def test_good_credentials(headers: dict[str, str]) -> None:
    assert accept(HELLO, headers=headers).request.principal == "default"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"api-key": ""}, id="none"),
        pytest.param({"api-key": "0" * 32}, id="a key of zeros"),
        pytest.param({"api-key": "", "Authorization": "Bearer 0000"}, id="a token of zeros"),
        pytest.param({"api-key": "", "Authorization": "Basic k"}, id="another scheme"),
        pytest.param({"api-key": "", "Authorization": "Bearer: k"}, id="a colon after the scheme"),
        pytest.param({"api-key": "", "Authorization": "k"}, id="no scheme"),
    ],
)
def test_bad_credentials(headers: dict[str, str]) -> None:
    refused = refuse(HELLO, headers=headers)
    assert refused.headers["x-ms-error-code"] == "Unauthorized"
    assert refused.json() == {
        "status": 401,
        "error": "Unauthorized",
        "message": "The access token is absent or not valid.",
    }


def test_listed_keys_alone_open() -> None:
    scenario = "keys:\n  - {token: t, principal: search}\n"
    for headers in ({"api-key": "t"}, {"api-key": "", "Authorization": "Bearer t"}):
        assert accept(HELLO, CHAT, scenario, headers).request.principal == "search"
    assert refuse(HELLO, CHAT, scenario).status == 401


@pytest.mark.parametrize("version", ["2024-04-01", "2024-04-01-preview", "2024-05-01-preview", "2025-01-31"])
def test_api_versions_are_dates(version: str) -> None:
    assert accept(HELLO, f"/chat/completions?api-version={version}")


BAD_VERSIONS = ["", "?api-version=", "?api-version=2024", "?api-version=2024-04-01-beta", "?api-version=24-04-01"]


@pytest.mark.parametrize("query", BAD_VERSIONS)
def test_no_api_version_is_refused(query: str) -> None:
    refused = refuse(HELLO, f"/chat/completions{query}")
    error = refused.json()
    assert (refused.status, error["param"], error["error"]) == (400, "api-version", "Bad Request")
    assert refused.headers["x-ms-error-code"] == "invalid_api_version"


@pytest.mark.parametrize("profile", ["foundry", "aoai"])
@pytest.mark.parametrize("query", BAD_VERSIONS)
def test_gateways_know_no_such_version(profile: str, query: str) -> None:
    refused = refuse(chat(model=FIRST), f"/chat/completions{query}", f"profile={profile}")
    assert (refused.status, refused.json()) == (404, {"error": {"code": "404", "message": "Resource not found"}})


@pytest.mark.parametrize(
    ("scenario", "target"),
    [
        pytest.param("profile=managed", "/chat/completions", id="a container never reads it"),
        pytest.param("profile=maas", "/chat/completions?api-version=soon", id="nor a serverless endpoint"),
        pytest.param("api_version_required=false", "/chat/completions", id="switched off"),
        pytest.param("", "/openai/v1/chat/completions", id="v1 has no dated versions"),
    ],
)
def test_where_no_version_is_asked(scenario: str, target: str) -> None:
    assert accept(HELLO, target, scenario)


def test_listed_api_versions_alone_exist() -> None:
    scenario = 'vendors: {azure: {api_versions: ["2024-05-01-preview"]}}\n'
    assert accept(HELLO, "/chat/completions?api-version=2024-05-01-preview", scenario)
    assert refuse(HELLO, CHAT, scenario).json()["message"] == "API version not supported"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{bad", id="broken"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"messages": NaN}', id="NaN"),
        pytest.param(b'{"a": 1} x', id="text after it"),
        pytest.param(b'{"a": "\xff"}', id="no UTF-8"),
        pytest.param(b'{"a": "\\ud800"}', id="half a character"),
        pytest.param(b"[" * 100_000, id="nested without end"),
    ],
)
@pytest.mark.parametrize("profile", ["seed", "foundry", "aoai"])
def test_what_is_no_json_is_a_bad_request(body: bytes, profile: str) -> None:
    refused = refuse(body, CHAT, f"profile={profile}")
    assert refused.status == 400
    assert refused.json()["error"]


BRACES = "Expecting property name enclosed in double quotes"


@pytest.mark.parametrize("profile", ["maas", "managed"])
@pytest.mark.parametrize(
    ("body", "offset", "words"),
    [
        pytest.param(b"{bad", 1, BRACES, id="broken"),
        pytest.param(b'{"messages": [', 14, "Expecting value", id="cut off"),
        pytest.param(b'{"a": 1} x', 9, "Extra data", id="text after it"),
        pytest.param(b'{"a" 1}', 5, "Expecting ':' delimiter", id="no colon"),
        pytest.param(b'{"a": 1,\n }', 10, BRACES, id="a comma before a brace"),
        pytest.param(b"[1, ]", 4, "Expecting value", id="a comma before a bracket"),
        pytest.param(b'{"a": 1,\n"b": NaN}', 14, "Expecting value", id="NaN in the second line"),
        pytest.param(b'"abc', 0, "Unterminated string starting at", id="an open string"),
    ],
)
def test_a_container_says_where_json_breaks(body: bytes, offset: int, words: str, profile: str) -> None:
    refused = refuse(body, CHAT, f"profile={profile}")
    detail = {"type": "json_invalid", "loc": ["body", offset], "msg": "JSON decode error", "input": {}}
    error = {"code": "Invalid input", "status": 422, "message": "invalid input error"}
    expected = {"error": {**error, "details": [{**detail, "ctx": {"error": words}}]}}
    assert (refused.status, refused.json()) == (422, expected)


@pytest.mark.parametrize("profile", ["maas", "managed"])
def test_a_container_misses_a_body(profile: str) -> None:
    refused = refuse(b"", CHAT, f"profile={profile}")
    details = [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}]
    assert (refused.status, refused.json()["error"]["details"]) == (422, details)


@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b"[" * 100_000], ids=["no UTF-8", "nested without end"])
def test_a_container_gives_up_on_what_is_no_text(body: bytes) -> None:
    refused = refuse(body, CHAT, "profile=maas")
    assert (refused.status, refused.json()) == (400, {"detail": "There was an error parsing the body"})


def test_a_container_reads_what_is_not_labelled_json_as_text() -> None:
    refused = refuse(b"{bad", CHAT, "profile=maas", {"Content-Type": "text/plain"})
    (detail,) = refused.json()["error"]["details"]
    assert (refused.status, detail["type"], detail["input"]) == (422, "model_attributes_type", "{bad")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param("application/json", 200, id="JSON"),
        pytest.param("application/json; charset=utf-8", 200, id="JSON with its charset"),
        pytest.param("Application/JSON", 200, id="in capitals"),
        pytest.param("application/merge-patch+json", 200, id="a kind of JSON"),
        pytest.param("text/plain", 422, id="text"),
        pytest.param("application/x-www-form-urlencoded", 422, id="a form"),
    ],
)
def test_content_type(kind: str, status: int) -> None:
    answer = send(HELLO, headers={"Content-Type": kind})
    if isinstance(answer, Refused):
        assert answer.json()["detail"]["loc"] == ["body"]
    assert (answer.status if isinstance(answer, Refused) else 200) == status


@pytest.mark.parametrize(
    "prefix", ["", "/models", "/openai/deployments/gpt-4o-mini", "/some/gateway", "/openai/v1", "/v1"]
)
@pytest.mark.parametrize(
    ("route", "body", "task"),
    [
        ("/chat/completions", HELLO, "chat"),
        ("/completions", {"prompt": "Hi"}, "completions"),
        ("/embeddings", {"input": ["Hi"]}, "embeddings"),
    ],
)
def test_prefixes_do_not_matter(prefix: str, route: str, body: JSON, task: str) -> None:
    if "deployments" in prefix and task != "chat":
        assert refuse(body, f"{prefix}{route}{VERSION}").status == 404
    else:
        assert accept(body, f"{prefix}{route}{VERSION}").ask.task == task


def named(target: str = CHAT, model: JSON = None, header: str = "", mesh: str = "", scenario: str = "") -> str:
    body = HELLO if model is None else chat(model=model)
    headers = {"azureml-model-deployment": header} if header else {}
    if mesh:
        headers["x-ms-model-mesh-model-name"] = mesh
    return accept(body, target, scenario, headers).deployment.name


def test_who_answers() -> None:
    path = f"/openai/deployments/DeepSeek-R1/chat/completions{VERSION}"
    assert named() == FIRST
    assert named(model="gpt-4o-mini") == "gpt-4o-mini"
    assert named(model="GPT-4O-mini") == "gpt-4o-mini"
    assert named(mesh="gpt-4o-mini") == "gpt-4o-mini"
    assert named(header="mistral-large-2411") == "mistral-large-2411"
    assert named(header="mistral-large-2411", model="gpt-4o-mini") == "mistral-large-2411"
    assert named(path, header="mistral-large-2411", model="gpt-4o-mini") == "DeepSeek-R1"


def test_a_model_nobody_has_is_ignored_where_one_model_lives() -> None:
    for profile in ("seed", "maas", "managed"):
        assert named(model="anything", scenario=f"profile={profile}") == FIRST


ALONE = (
    "deployments:\n  - {vendor: azure, name: embed-3072, task: embeddings, dimensions: 3072, normalized: true}\n"
    "vendors: {azure: {profile: PROFILE}}\n"
)


@pytest.mark.parametrize("profile", ["seed", "maas", "managed", "foundry", "aoai"])
def test_a_deployment_of_a_scenario_is_named_like_any_other(profile: str) -> None:
    scenario = ALONE.replace("PROFILE", profile)
    target = f"/embeddings{VERSION}"
    by_header = accept({"input": ["a"]}, target, scenario, {"azureml-model-deployment": "embed-3072"})
    by_model = accept({"input": ["a"], "model": "embed-3072"}, target, scenario)
    assert by_header.deployment.name == by_model.deployment.name == "embed-3072"
    if profile != "foundry":
        assert accept({"input": ["a"]}, target, scenario).deployment.name == "embed-v-4-0"


def test_a_name_outside_the_body_is_looked_up_before_the_body() -> None:
    for name in ("nobody", "llama2-7b"):
        assert refuse(b"{bad", CHAT, headers={"azureml-model-deployment": name}).status == 404
    assert refuse(b"{bad", "/openai/deployments/nobody" + CHAT).status == 404


@pytest.mark.parametrize(("profile", "status"), [("seed", 422), ("foundry", 422), ("aoai", 400)])
def test_a_model_that_is_no_string_breaks_the_schema(profile: str, status: int) -> None:
    refused = refuse(chat(model=5), CHAT, f"profile={profile}")
    assert refused.status == status
    assert b"model" in refused.response.body


@pytest.mark.parametrize(
    ("profile", "headers", "model", "target", "status", "code"),
    [
        pytest.param("seed", {"azureml-model-deployment": "x"}, None, CHAT, 404, None, id="seed, header"),
        pytest.param("maas", {"azureml-model-deployment": "x"}, None, CHAT, 404, None, id="maas, header"),
        pytest.param("foundry", {}, None, CHAT, 400, "no_model_name", id="foundry, nothing"),
        pytest.param("foundry", {}, "x", CHAT, 400, "unknown_model", id="foundry, unknown"),
        pytest.param(
            "aoai",
            {},
            None,
            f"/openai/deployments/x/chat/completions{VERSION}",
            404,
            "DeploymentNotFound",
            id="aoai, path",
        ),
        pytest.param("aoai", {}, "x", "/openai/v1/chat/completions", 404, "DeploymentNotFound", id="aoai, model"),
    ],
)
def test_a_name_nobody_has(
    profile: str, headers: dict[str, str], model: str | None, target: str, status: int, code: str | None
) -> None:
    refused = refuse(HELLO if model is None else chat(model=model), target, f"profile={profile}", headers)
    assert refused.status == status
    if code is not None:
        assert refused.json()["error"]["code"] == code


@pytest.mark.parametrize(
    ("profile", "status", "body"),
    [
        pytest.param(
            "seed",
            404,
            {"status": 404, "error": "Not Found", "message": "This deployment does not serve the requested route."},
            id="seed",
        ),
        pytest.param("maas", 404, b"NOT FOUND", id="maas"),
        pytest.param(
            "managed",
            400,
            {
                "error": {
                    "code": "Bad Request",
                    "message": "task_type text-generation not available with chat completions API.",
                    "status": 400,
                }
            },
            id="managed",
        ),
    ],
)
def test_a_route_the_model_does_not_serve(profile: str, status: int, body: JSON) -> None:
    refused = refuse(HELLO, CHAT, f"profile={profile}", {"azureml-model-deployment": "llama2-7b"})
    assert refused.status == status
    assert (refused.response.body if isinstance(body, bytes) else refused.json()) == body
    assert refused.headers["Content-Type"] == ("text/plain" if isinstance(body, bytes) else "application/json")


@pytest.mark.parametrize(
    ("profile", "status", "code"), [("foundry", 404, "404"), ("aoai", 400, "OperationNotSupported")]
)
def test_an_operation_the_model_does_not_know(profile: str, status: int, code: str) -> None:
    refused = refuse(chat(model="embed-v-4-0"), CHAT, f"profile={profile}")
    assert (refused.status, refused.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(("state", "status"), [("loading", 503), ("stopped", 503), ("retired", 404)])
def test_a_deployment_that_is_not_ready(state: str, status: int) -> None:
    scenario = f"deployments:\n  - {{vendor: azure, name: d, state: {state}}}\n"
    assert refuse(chat(model="d"), CHAT, scenario).status == status


NOT_SET = (
    "Extra parameters ['foo', 'n'] are not allowed when extra-parameters is not set or set to be 'error'. "
    "Set extra-parameters to 'pass-through' to pass to the model."
)
TWO = {"foo": 1, "n": 2}


@pytest.mark.parametrize(
    ("profile", "value", "outcome"),
    [
        pytest.param("seed", None, NOT_SET, id="seed: absent refuses"),
        pytest.param("seed", "error", NOT_SET, id="seed: error refuses"),
        pytest.param("seed", "ignore", 1, id="seed: ignore drops"),
        pytest.param("seed", "drop", 1, id="seed: drop drops"),
        pytest.param("seed", "pass-through", 2, id="seed: pass-through hands on"),
        pytest.param("seed", "allow", 2, id="seed: allow hands on"),
        pytest.param("seed", "maybe", "['error', 'ignore', 'pass-through']", id="seed: another value"),
        pytest.param("seed", "Error", "['error', 'ignore', 'pass-through']", id="seed: case matters"),
        pytest.param("seed", "", "['error', 'ignore', 'pass-through']", id="seed: no value"),
        pytest.param("maas", None, NOT_SET, id="maas: absent refuses"),
        pytest.param("maas", "error", NOT_SET, id="maas: error refuses"),
        pytest.param("maas", "ignore", "['error', 'drop', 'pass-through']", id="maas: ignore means nothing"),
        pytest.param("maas", "drop", 1, id="maas: drop drops"),
        pytest.param("maas", "pass-through", 2, id="maas: pass-through hands on"),
        pytest.param("maas", "allow", "['error', 'drop', 'pass-through']", id="maas: allow means nothing"),
        pytest.param("maas, lenient_allow=true", "allow", 2, id="maas: allow where it is tolerated"),
        pytest.param("seed, extra_parameters_default=drop", None, 1, id="absent drops where that is the default"),
        pytest.param("seed, extra_parameters_default=pass-through", None, 2, id="or hands on"),
        pytest.param(
            "seed, extra_parameters_default=pass-through",
            "error",
            "Extra parameters ['foo', 'n'] are not allowed when extra-parameters is set to 'error'.",
            id="newest container: only error refuses",
        ),
    ],
)
def test_extra_parameters(profile: str, value: str | None, outcome: int | str) -> None:
    headers = {} if value is None else {"extra-parameters": value}
    answer = send(chat(**TWO), CHAT, f"profile={profile}", headers)
    if isinstance(outcome, int):
        assert not isinstance(answer, Refused | WireResponse)
        assert isinstance(answer.ask, ChatAsk)
        assert answer.ask.sampling.n == outcome
        return
    assert isinstance(answer, Refused)
    assert answer.status == 400
    error = answer.json()
    if profile.startswith("maas"):
        assert error["detail"].endswith(outcome)
        assert list(error) == ["detail"]
    else:
        assert error["message"].endswith(outcome)
        assert answer.headers["x-ms-error-code"] == error["code"] == "parameter_not_allowed"


def test_only_keys_at_the_top_are_extra() -> None:
    assert accept({"messages": [{"role": "user", "content": "Hi", "mood": "good"}]})


def test_a_wrong_header_is_refused_after_a_wrong_body() -> None:
    headers = {"extra-parameters": "maybe"}
    assert refuse(chat(temperature="hot"), headers=headers).status == 422
    assert refuse(HELLO, headers=headers).status == 400


PASS = {"extra-parameters": "pass-through"}


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        pytest.param({"n": 3}, {"n": 3}, id="n"),
        pytest.param({"logprobs": True}, {"logprobs": 0}, id="logprobs"),
        pytest.param({"logprobs": True, "top_logprobs": 5}, {"logprobs": 5}, id="top_logprobs"),
        pytest.param({"max_completion_tokens": 4}, {"max_tokens": 4}, id="max_completion_tokens"),
        pytest.param({"ignore_eos": True}, {"ignore_eos": True}, id="ignore_eos"),
        pytest.param({"top_k": 1}, {"greedy": True}, id="top_k 1 is greedy"),
        pytest.param({"top_k": 5, "min_p": 0.1}, {"knobs": (("top_k", 5), ("min_p", 0.1))}, id="top_k and min_p"),
        pytest.param({"logit_bias": {"5": -100}}, {"knobs": (("logit_bias", [("5", -100.0)]),)}, id="logit_bias"),
        pytest.param({"user": "u", "safe_prompt": True, "foo": {"a": 1}}, {}, id="what is harmless"),
    ],
)
def test_passed_through_parameters_take_effect(extras: JSON, expected: dict[str, object]) -> None:
    ask = accept(chat(**extras), headers=PASS).ask
    assert isinstance(ask, ChatAsk)
    for name, value in expected.items():
        assert getattr(ask.sampling, name) == value


def test_parallel_calls_and_effort_take_effect() -> None:
    ask = accept(chat(parallel_tool_calls=True, reasoning_effort="low", model="DeepSeek-R1"), headers=PASS).ask
    assert isinstance(ask, ChatAsk)
    assert (ask.parallel, ask.reasoning) == (True, "low")


@pytest.mark.parametrize(
    ("extras", "loc"),
    [
        pytest.param({"n": 0}, "n", id="n below 1"),
        pytest.param({"n": "x"}, "n", id="n text"),
        pytest.param({"logprobs": 5}, "logprobs", id="logprobs a number"),
        pytest.param({"top_logprobs": 21}, "top_logprobs", id="top_logprobs above 20"),
        pytest.param({"stream_options": 1}, "stream_options", id="stream_options no object"),
    ],
)
def test_passed_through_parameters_are_checked(extras: JSON, loc: str) -> None:
    assert refuse(chat(**extras), headers=PASS).json()["detail"]["loc"] == ["body", loc]


def test_a_model_may_refuse_what_is_passed_through() -> None:
    refused = refuse(chat(model="llama2-70b-chat", foo="bar"), CHAT, "profile=maas", PASS)
    assert refused.status == 422
    assert refused.response.body == (
        rb'{"error":{"code":"Invalid input","message":"{\"detail\":[{\"type\":\"extra_forbidden\",'
        rb'\"loc\":[\"body\",\"foo\"],\"msg\":\"Extra inputs are not permitted\",\"input\":\"bar\"}]}","status":422}}'
    )
    assert refused.headers["ms-azureml-model-error-statuscode"] == "422"
    assert refused.headers["x-ms-rai-invoked"] == "true"


def test_an_older_model_refuses_without_a_wrapping() -> None:
    scenario = (
        "vendors: {azure: {profile: maas}}\ndeployments:\n  - {vendor: azure, name: d, traits: {extras: refuse_bare}}\n"
    )
    refused = refuse(chat(model="d", foo="bar"), CHAT, scenario, PASS)
    assert refused.json()["detail"][0]["loc"] == ["body", "foo"]


@pytest.mark.parametrize("profile", ["aoai", "foundry"])
def test_openai_models_know_their_own_parameters(profile: str) -> None:
    body = chat(model="gpt-4o-mini", n=2, stream_options={"include_usage": True})
    assert accept(body, CHAT, f"profile={profile}")


def test_openai_models_refuse_all_others() -> None:
    refused = refuse(chat(model="gpt-4o-mini", foo=1), CHAT, "profile=aoai")
    message = "Unrecognized request argument supplied: foo"
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_raw_routes_of_a_managed_endpoint_check_no_extras() -> None:
    assert accept(chat(n=2), "/v1/chat/completions", "profile=managed")
    assert refuse(chat(n=2), "/chat/completions", "profile=managed").status == 400


def test_the_clients_request_id_comes_back() -> None:
    headers = {"x-ms-client-request-id": "d9a11e7a"}
    assert refuse({}, headers=headers).headers["x-ms-client-request-id"] == "d9a11e7a"
    assert "x-ms-client-request-id" not in refuse({}).headers


READ: JSON = {
    "/chat/completions": chat(max_tokens=3, stream=True, tools=[{"type": "function", "function": {"name": "f"}}]),
    "/completions": {"prompt": ["a", "b"]},
    "/embeddings": {"input": ["a"]},
    "/images/embeddings": {"input": [{"image": "data:,a"}]},
}


@pytest.mark.parametrize("route", READ)
def test_equal_requests_are_read_alike_whatever_else_they_carry(route: str) -> None:
    service = serve()
    first, second = (make_request(f"{route}{VERSION}", READ[route]) for _ in range(2))
    second.key = b"another key 1234"
    second.headers = CIMultiDict({**second.headers, "x-ms-client-request-id": "i", "User-Agent": "u"})
    calls = []
    for request in (first, second):
        endpoint, request.params = Router(VENDOR.endpoints).resolve(request.method, request.path)
        call = endpoint.parse(request, service)
        assert isinstance(call, Call)
        calls.append(call)
    for name in ("deployment", "ask", "codec", "stream", "prompt_tokens", "context"):
        assert getattr(calls[0], name) == getattr(calls[1], name)
    assert calls[0].repeatable
    assert calls[1].repeatable


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"azureml-model-deployment": "nobody"}, 404, id="azureml-model-deployment"),
        pytest.param({"extra-parameters": "maybe"}, 400, id="extra-parameters"),
        pytest.param({"x-ms-model-mesh-model-name": "llama2-7b"}, 404, id="x-ms-model-mesh-model-name"),
        pytest.param({"Content-Type": "text/plain"}, 422, id="Content-Type"),
        pytest.param({"api-key": "000"}, 401, id="api-key"),
    ],
)
async def test_a_header_that_matters_is_read_each_time(start: Start, headers: dict[str, str], status: int) -> None:
    running = await start()
    good = {"api-key": "k"}
    answers = [await running.ask("azure", CHAT, HELLO, headers=good) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert len({answer.json()["id"] for answer in answers}) == 3
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1
    assert (await running.ask("azure", CHAT, HELLO, headers={**good, **headers})).status == status
    echoed = await running.ask("azure", CHAT, HELLO, headers={**good, "x-ms-client-request-id": "mine"})
    assert echoed.header("x-ms-client-request-id") == "mine"


@pytest.mark.parametrize(("profile", "mistral"), [("seed", True), ("maas", True), ("aoai", False)])
def test_an_openai_resource_has_no_mistral_ids(profile: str, mistral: bool) -> None:
    assert accept(chat(model=FIRST), CHAT, f"profile={profile}").context.mistral is mistral
