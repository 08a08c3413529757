"""Methods of both clients."""

import inspect
import ssl
import threading
from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from emulator.client import AsyncEmulatorClient, EmulatorClient, EmulatorError
from emulator.core.json import as_object
from emulator.scenario.parsed import ScenarioError
from tests.client.app import MODEL, PATH, ask
from tests.untyped_json import JSON

BUSY: Mapping[str, JSON] = {"name": "busy", "times": {"first": 1}, "error": {"kind": "rate_limited"}}


def methods(kind: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: inspect.signature(method) for name, method in found if not name.startswith("_")}


@pytest.mark.covers("promises/clients", "both have the same methods")
def test_sync_and_async_clients_have_same_methods() -> None:
    blocking, awaiting = methods(EmulatorClient), methods(AsyncEmulatorClient)
    assert blocking.keys() == awaiting.keys()
    for name, signature in blocking.items():
        assert signature.parameters == awaiting[name].parameters
    assert {name for name in awaiting if not inspect.iscoroutinefunction(getattr(AsyncEmulatorClient, name))} == {
        "session"
    }


WORDS = [
    ("url", "vendor, via=None"),
    ("env", "vendor, via=None"),
    ("load", "*sources, **keys"),
    ("add_rule", "rule, first=True"),
    ("reset", ""),
    ("advance", "duration"),
    ("clock", ""),
    ("requests", "**filters"),
    ("last", "**filters"),
    ("wait_for", "within='5s', **calls"),
    ("verify", "*, calls=None, order=None, times=None, within=None"),
    ("assert_called", "times=None, at_least=None, at_most=None, within=None, **calls"),
    ("assert_not_called", "within=None, **calls"),
    ("assert_order", "order, within=None"),
    ("explain", "request"),
    ("metrics", ""),
    ("close", ""),
    ("session", "name"),
]


@pytest.mark.covers("promises/clients", "what each method takes")
@pytest.mark.parametrize("kind", [EmulatorClient, AsyncEmulatorClient])
@pytest.mark.parametrize(("method", "words"), WORDS)
def test_client_method_signatures_are_stable(kind: type, method: str, words: str) -> None:
    """Parameters are public: none may be removed, and no default may change."""
    _, *taken = inspect.signature(getattr(kind, method)).parameters.values()
    plain = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in taken])
    assert str(plain).strip("()").replace("/, ", "") == words


@pytest.mark.covers("promises/clients", "answers are models")
def test_client_returns_pydantic_models(client: EmulatorClient) -> None:
    ask(client.url("databricks"))
    answers = (client.last(), client.clock(), client.scenario(), client.assert_called(), *client.requests())
    assert all(isinstance(answer, BaseModel) for answer in answers)
    assert type(client.last()).model_validate_json(client.last().model_dump_json()) == client.last()


def test_every_client_method_has_docstring() -> None:
    assert [name for name in methods(EmulatorClient) if not getattr(EmulatorClient, name).__doc__] == []


@pytest.mark.covers("promises/clients", "url by port")
def test_session_url_uses_session_port(client: EmulatorClient) -> None:
    url = client.url("databricks")
    assert url == client.url("databricks", via="port")
    assert ask(url) == 200
    assert client.last().session == client.session_name


@pytest.mark.covers("promises/clients", "url by path")
def test_path_url_names_session(client: EmulatorClient) -> None:
    url = client.url("databricks", via="path")
    assert url == f"{client.front}/_s/{client.session_name}/databricks"
    ask(url)
    client.assert_called(times=1, vendor="databricks")


@pytest.mark.covers("promises/clients", "url by root")
def test_root_url_names_no_session(client: EmulatorClient) -> None:
    assert client.url("tgi", via="root") != client.url("tgi")
    assert "/_s/" not in client.url("tgi", via="root")


@pytest.mark.covers("promises/clients", "url without a session")
def test_url_without_session_is_root(server: EmulatorClient) -> None:
    assert server.url("tgi") == server.url("tgi", via="port") == server.url("tgi", via="root")
    assert server.url("tgi", via="path") == f"{server.front}/tgi"


@pytest.mark.parametrize("via", ["port", "path", "root"])
def test_url_of_unserved_vendor_raises(client: EmulatorClient, via: str) -> None:
    with pytest.raises(EmulatorError, match="No vendor 'databrick' is served; there are databricks, azure"):
        client.url("databrick", via=via)  # type: ignore[arg-type]  # one of them


@pytest.mark.covers("promises/clients", "env")
def test_env_returns_vendor_variables(client: EmulatorClient) -> None:
    assert client.env("databricks")["DATABRICKS_HOST"] == client.url("databricks")


@pytest.mark.covers("promises/clients", "load, version and name filled in")
def test_load_fills_in_version_and_name(client: EmulatorClient) -> None:
    assert client.load({"rules": [BUSY]}).rules == ["busy"]
    assert client.load("seed: 9\nrules: []\n").seed == 9
    assert client.load("seed: 9\n", seed=4, clock="frozen").seed == 4
    assert client.clock().kind == "frozen"


def test_invalid_scenario_leaves_active_one_unchanged(client: EmulatorClient) -> None:
    client.load({"rules": [BUSY]})
    with pytest.raises(ScenarioError, match=r"rules\[0\].eror: unknown key; did you mean error\?"):
        client.load({"rules": [{"name": "x", "eror": {}}]})
    assert client.scenario().rules == ["busy"]


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        pytest.param({"rules": [{"pass": True}]}, r"^rules\[0\]\.name: missing key$", id="a key that is missing"),
        pytest.param({"rules": [{"name": "x"}]}, r"^rules\[0\]: expected an outcome", id="a rule that does nothing"),
        pytest.param({"seed": "x"}, r"^seed: ", id="a value of another kind"),
        pytest.param({"rules": [{"nme": "x"}]}, r"missing key\nrules\[0\]\.nme: unknown key", id="one of each"),
    ],
)
def test_schema_mistakes_raise_scenario_error(client: EmulatorClient, scenario: dict[str, JSON], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        client.load(scenario)
    with pytest.raises(ScenarioError, match=r"^rules\[0\]: expected an outcome"):
        client.add_rule({"name": "x"})


@pytest.mark.covers("promises/clients", "add_rule")
def test_add_rule_inserts_first_or_last(client: EmulatorClient) -> None:
    client.load({"seed": 3, "rules": [BUSY]})
    client.add_rule({"name": "first", "error": {"kind": "overloaded"}})
    state = client.add_rule({"name": "last", "pass": True}, first=False)
    assert (state.rules, state.seed) == (["first", "busy", "last"], 3)


@pytest.mark.covers("promises/clients", "reset")
def test_reset_clears_journal_and_rule_counts(client: EmulatorClient) -> None:
    client.load({"rules": [BUSY]})
    url = client.url("databricks")
    assert [ask(url), ask(url)] == [429, 200]
    client.reset()
    assert client.requests() == []
    assert ask(url) == 429


@pytest.mark.covers("promises/clients", "advance, clock")
def test_advance_moves_clock(client: EmulatorClient) -> None:
    client.load({"clock": "frozen"})
    before = client.clock().now
    assert client.advance("90s").now == before + 90 == client.clock().now


@pytest.mark.covers("promises/clients", "requests, explain")
def test_requests_and_explain_show_full_calls(client: EmulatorClient) -> None:
    client.load({"rules": [{"name": "tides", "when": {"prompt": "Tides?"}, "reply": {"text": "Twice a day."}}]})
    ask(client.url("databricks"), "Tides?")
    (call,) = client.requests(status=200, rule="tides", stream=False)
    assert call.path == PATH
    assert call.request.body["model"] == MODEL
    assert call.response.text == "Twice a day."
    assert client.explain(call).explanation == client.explain(call.id).explanation == call.explanation
    assert client.requests(rule=None) == []


@pytest.mark.slow
def test_requests_reads_past_one_page(client: EmulatorClient) -> None:
    url = client.url("databricks")
    for number in range(101):
        ask(url, f"{number}", max_tokens=1)
    assert len(client.requests()) == 101


@pytest.mark.covers("promises/clients", "last")
def test_last_returns_call_or_raises(client: EmulatorClient) -> None:
    ask(client.url("databricks"))
    assert client.last().status == 200
    with pytest.raises(AssertionError, match=r"there is no call with status=429; 1 was made"):
        client.last(status=429)


@pytest.mark.covers("promises/clients", "assertions that hold")
def test_assertions_pass_when_calls_match(client: EmulatorClient) -> None:
    url = client.url("databricks")
    ask(url, "One")
    ask(url, "Two")
    assert client.assert_called(prompt="One").count == 1
    client.assert_called(times=2)
    client.assert_called(at_least=1, at_most=2)
    client.assert_not_called(prompt="Three")
    client.assert_order([{"prompt": "One"}, {"prompt": "Two"}])
    assert len(client.verify(calls={"vendor": "databricks"}, times={"at_least": 2}).ids) == 2


@pytest.mark.covers("promises/clients", "assertions that fail, in words")
@pytest.mark.parametrize(
    ("method", "arguments", "text"),
    [
        ("assert_called", {"prompt": {"contains": "tides"}}, "expected at least 1 call whose prompt contains 'tides'"),
        ("assert_called", {"times": 3}, "expected exactly 3 calls; there was 1"),
        ("assert_not_called", {"vendor": "databricks"}, "expected no call of databricks; there was 1"),
        ("assert_order", {"order": [{"prompt": "Hello"}, {"prompt": "Bye"}]}, "expected 2 calls in this order"),
        ("wait_for", {"within": "10ms", "prompt": "Bye"}, "within 0.01 s"),
        ("verify", {"calls": {"status": 429}, "times": 1}, "expected exactly 1 call whose status is 429"),
    ],
)
def test_assertions_explain_failure(client: EmulatorClient, method: str, arguments: dict[str, JSON], text: str) -> None:
    ask(client.url("databricks"))
    with pytest.raises(AssertionError, match=text):
        getattr(client, method)(**arguments)


def test_unknown_facet_raises_with_suggestion(client: EmulatorClient) -> None:
    with pytest.raises(EmulatorError, match=r"promt: unknown key; did you mean prompt\?"):
        client.assert_called(promt="Hello")  # type: ignore[call-arg]


@pytest.mark.covers("promises/clients", "wait_for")
def test_wait_for_returns_later_call(client: EmulatorClient) -> None:
    url = client.url("databricks")
    later = threading.Timer(0.05, ask, (url, "Late"))
    later.start()
    assert client.wait_for(prompt="Late").request.body is not None
    client.assert_called(within="5s", prompt="Late", whole=True)
    later.join()


@pytest.mark.covers("promises/clients", "metrics")
def test_metrics_returns_prometheus_text(client: EmulatorClient) -> None:
    assert client.metrics().startswith("# HELP ")


@pytest.mark.covers("promises/clients", "close")
def test_close_ends_session(server: EmulatorClient) -> None:
    client = server.session("a-short-one")
    url = client.url("databricks")
    ask(url)
    client.close()
    client.close()
    assert server.session("a-short-one").requests() == []
    with pytest.raises(OSError, match="refused"):
        ask(url)


@pytest.mark.covers("promises/clients", "one that runs elsewhere")
def test_unreachable_server_raises_connection_error(unused_tcp_port: int) -> None:
    with pytest.raises(ConnectionError, match="no emulator answers at http"):
        EmulatorClient(f"http://127.0.0.1:{unused_tcp_port}").scenario()


async def test_async_unreachable_server_raises_connection_error(unused_tcp_port: int) -> None:
    async with AsyncEmulatorClient(f"http://127.0.0.1:{unused_tcp_port}") as client:
        with pytest.raises(ConnectionError, match="no emulator answers at http"):
            await client.scenario()


def test_threads_share_client(session: EmulatorClient) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(session.requests()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 8


async def test_tls_context_is_used(live_tls: object) -> None:
    urls, certificate = live_tls.urls, live_tls.certificate  # type: ignore[attr-defined]  # a fixture of the suite
    context = ssl.create_default_context(cafile=certificate)
    with EmulatorClient(urls["front"], tls=context) as client:
        assert client.url("tgi").startswith("https://")
    async with AsyncEmulatorClient(urls["front"], tls=context) as awaiting:
        assert (await awaiting.url("tgi")).startswith("https://")


@pytest.mark.covers("promises/clients", "helpers for rules")
def test_helpers_add_rules_before_the_others(client: EmulatorClient) -> None:
    client.reply("Twice a day.")
    client.reply(finish_reason="length", when={"prompt": "long", "where": {"header.x-a": {"not": "b"}}})
    client.refuse("rate_limited", times=2, retry_after="3s")
    client.refuse("rate_limited", when={"prompt": {"contains": "never"}}, times={"every": 2}, name="mine")
    client.fault("stall", for_="2s", after_tokens=1, when={"stream": True})
    client.outage("30s", after="1m30s", kind="internal")
    assert as_object(client.scenario().document)["rules"] == [
        {"name": "outage", "error": {"kind": "internal"}, "times": {"between": ["90.000000s", "120.000000s"]}},
        {
            "name": "stall",
            "faults": [{"type": "stall", "for": "2s", "after_tokens": 1}],
            "when": {"stream": True},
        },
        {
            "name": "mine",
            "error": {"kind": "rate_limited"},
            "when": {"prompt": {"contains": "never"}},
            "times": {"every": 2},
        },
        {"name": "rate_limited", "error": {"kind": "rate_limited", "retry_after": "3s"}, "times": {"first": 2}},
        {
            "name": "reply 2",
            "reply": {"finish_reason": "length"},
            "when": {"prompt": "long", "header.x-a": {"not": "b"}},
        },
        {"name": "reply", "reply": {"text": "Twice a day."}},
    ]
    with pytest.raises(ScenarioError, match=r"rules\[0\]\.faults\[0\]\.after_token: unknown key"):
        client.fault("stall", for_="2s", after_token=1)


def test_unused_rules_are_named(client: EmulatorClient) -> None:
    client.load({"strict": True, "rules": [{"name": "tides", "when": {"prompt": "tides"}, "pass": True}]})
    client.reply("Hi", when={"prompt": {"contains": "Hello"}})
    assert ask(client.url("databricks"), "Good-bye") == 501
    with pytest.raises(AssertionError) as caught:
        client.assert_no_unused_rules()
    assert str(caught.value).splitlines() == [
        "2 rules took no call:",
        "  'reply'   the nearest rule of 1 unmatched calls",
        "  'tides'",
    ]
    ask(client.url("databricks"), "Hello")
    ask(client.url("databricks"), "tides")
    client.assert_no_unused_rules()


def test_verdict_names_broken_rules(client: EmulatorClient) -> None:
    client.load({"expect": {"robust": False, "attempts": 1}})
    client.assert_sound()
    client.refuse("overloaded")
    for _ in range(2):
        ask(client.url("databricks"), "Hello")
    verdict = client.verdict()
    assert [row.rule for row in verdict.broken] == ["attempts"]
    with pytest.raises(AssertionError, match="attempt 2 of the same request; a sound client gives up") as caught:
        client.assert_sound()
    assert str(caught.value).splitlines()[0] == "the client broke these rules:"


@pytest.mark.covers("promises/clients", "prompt and messages of a call")
def test_calls_have_prompt_and_messages(client: EmulatorClient) -> None:
    ask(client.url("databricks"), "What of tides?")
    call = client.last()
    assert (call.prompt, call.messages[-1]["role"]) == ("What of tides?", "user")
    assert call.request.body["messages"][-1]["content"] == "What of tides?"
    client.assert_called(where={"header.authorization": {"prefix": "Bearer"}})
    client.assert_order([{"prompt": "What of tides?", "where": {"body.model": {"not": "x"}}}])
