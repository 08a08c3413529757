"""Tests of warnings about valid scenarios."""

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emulator.core.quota import Charge, Quota
from emulator.core.requests import ChatRequest, Deployment
from emulator.scenario.conditions import When
from emulator.scenario.lint import lint
from emulator.scenario.load import load_scenario, load_text
from emulator.scenario.matchers import compile_when
from emulator.scenario.models import Limit
from emulator.scenario.shadowing import covers, fold, is_stricter
from emulator.storage.memory import MemoryState
from tests.scenario.calls import build
from tests.scenario.texts import write

VENDORS = ("databricks", "azure")


def warn(text: str) -> list[str]:
    return [f"{row.path}: {row.message}" for row in lint(load_text("version: 1\n" + text), VENDORS)]


def rules(*whens: str, tail: str = "") -> str:
    lines = [f"- {{name: r{n}, when: {when}, pass: true}}" for n, when in enumerate(whens)]
    return "rules:\n" + "\n".join(lines) + tail


@pytest.mark.parametrize(
    ("general", "special"),
    [
        pytest.param("{}", "{vendor: azure}", id="a rule about everything"),
        pytest.param("{vendor: azure}", "{vendor: azure, stream: true}", id="one facet more"),
        pytest.param("{vendor: [azure, databricks]}", "{vendor: azure}", id="one of a list"),
        pytest.param("{deployment: 'llama-*'}", "{deployment: 'llama-7*'}", id="a narrower glob"),
        pytest.param("{deployment: '*'}", "{deployment: 'a*b'}", id="any name"),
        pytest.param("{prompt: {contains: a}}", "{prompt: banana}", id="a text that contains it"),
        pytest.param("{prompt: {contains: a}}", "{prompt: {prefix: banana}}", id="a prefix that contains it"),
        pytest.param("{prompt: {prefix: b}}", "{prompt: {prefix: ba, suffix: c}}", id="a longer prefix"),
        pytest.param("{prompt_tokens: {above: 10}}", "{prompt_tokens: {above: 20, below: 30}}", id="narrower bounds"),
        pytest.param("{prompt_tokens: {above: 10}}", "{prompt_tokens: 11}", id="a number within bounds"),
        pytest.param("{header.X-A: b}", "{header.x-a: b, stream: true}", id="a header in another case"),
        pytest.param("{body.n: 1}", "{body.n: 1.0}", id="an equal value of the body"),
        pytest.param("{body.n: {regex: a}}", "{body.n: banana}", id="a value of the body that matches"),
        pytest.param("{any: [{stream: true}, {vendor: azure}]}", "{vendor: azure}", id="one item of any"),
        pytest.param("{not: {vendor: azure}}", "{not: {vendor: azure}, stream: true}", id="the same not"),
        pytest.param("{prompt: {contains: A, ignore_case: true}}", "{prompt: banana}", id="a text in another case"),
    ],
)
def test_rule_after_wider_rule_is_reported_unreachable(general: str, special: str) -> None:
    assert warn(rules(general, special)) == [
        "rules[1].name: the rule is never reached: 'r0' takes every call it is about"
    ]
    if special != "{body.n: 1.0}":  # equal to the other
        assert warn(rules(special, general)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("{vendor: azure}", "{vendor: databricks}", id="another vendor"),
        pytest.param("{stream: true}", "{stream: false}", id="the contrary"),
        pytest.param("{deployment: 'a*'}", "{deployment: '*'}", id="a wider glob"),
        pytest.param("{prompt: a}", "{prompt: {contains: a}}", id="a wider comparison"),
        pytest.param("{prompt: {regex: a+}}", "{prompt: {contains: aa}}", id="what only a proof could show"),
        pytest.param("{prompt_tokens: {above: 10}}", "{prompt_tokens: {above: 5}}", id="wider bounds"),
        pytest.param("{body.n: 1}", "{body.n: true}", id="a value of another type"),
        pytest.param("{header.a: b}", "{query.a: b}", id="a query parameter and a header"),
        pytest.param("{any: [{stream: true}, {vendor: azure}]}", "{session: a}", id="no item of any"),
        pytest.param("{not: {vendor: azure}}", "{stream: true}", id="what another rule leaves out"),
        pytest.param("{prompt: {contains: a}}", "{prompt: {prefix: a, ignore_case: true}}", id="case"),
    ],
)
def test_rule_matching_other_calls_gets_no_warning(first: str, second: str) -> None:
    assert warn(rules(first, second)) == []


@pytest.mark.parametrize(
    ("times", "shadows"),
    [
        pytest.param("{probability: 1}", True, id="a certain chance"),
        pytest.param("{repeat: {every: 5s, for: 5s}}", True, id="a burst without end"),
        pytest.param("{probability: 0.5}", False, id="a chance"),
        pytest.param("{between: [0s, 1h]}", False, id="a time"),
        pytest.param("{repeat: {every: 5s, for: 1s}}", False, id="bursts"),
    ],
)
def test_only_unconditional_rule_shadows_others(times: str, shadows: bool) -> None:
    text = f"rules:\n- {{name: a, times: {times}, pass: true}}\n- {{name: b, pass: true}}"
    assert bool(warn(text)) == shadows


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param(rules("{vendor: tgi}"), "when.vendor: the rule is never reached: tgi is not served", id="vendor"),
        pytest.param(rules("{vendor: azur}"), "azur is not served; did you mean azure?", id="a vendor's name misspelt"),
        pytest.param(
            "vendors: {azure: false}\n" + rules("{vendor: 'az*'}"), "az* is not served", id="a vendor left out"
        ),
        pytest.param(
            "keys: [{token: k, principal: a}]\n" + rules("{principal: b}"), "b is not among the keys", id="principal"
        ),
        pytest.param(rules("{task: translation}"), "translation is not a task", id="task"),
        pytest.param(
            rules("{prompt_tokens: {above: 5, below: 6}}"), "no number is above 5 and below 6", id="empty bounds"
        ),
        pytest.param(rules("{task: embeddings, tools: a}"), "only a chat has it", id="tools of an embedding"),
        pytest.param(
            rules("{any: [{vendor: tgi}, {task: x}]}"), "can hold: tgi is not served; x is not a task", id="empty any"
        ),
        pytest.param(
            rules("{vendor: azure, not: {vendor: 'az*'}}"), "leaves out every call", id="a not that leaves nothing"
        ),
        pytest.param(
            "rules: [{name: a, times: {probability: 0}, pass: true}]", "0 never comes true", id="no chance at all"
        ),
        pytest.param(
            "rules: [{name: a, times: {first: 3, after: 3, per: request}, pass: true}]",
            "no count is meant",
            id="first and after",
        ),
        pytest.param(
            "rules: [{name: a, times: {nth: [1, 3], every: 2, per: request}, pass: true}]",
            "no count is meant",
            id="nth and every",
        ),
        pytest.param(
            "rules: [{name: a, times: {repeat: {every: 5s, for: 0s}}, pass: true}]", "last no time", id="empty bursts"
        ),
    ],
)
def test_rule_matching_nothing_is_reported_unreachable(text: str, warning: str) -> None:
    (line,) = warn(text)
    assert warning in line
    assert "never reached" in line


@pytest.mark.parametrize("times", ["{first: 4, after: 3}", "{nth: [1, 4], every: 2}", "{every: 3, after: 7, first: 9}"])
def test_overlapping_counts_get_no_warning(times: str) -> None:
    text = f"rules: [{{name: a, times: {times.replace('}', ', per: request}')}, pass: true}}]"
    assert warn(text) == []


@pytest.mark.parametrize(("chance", "meaning"), [("1.5", "always"), ("-1", "never")])
def test_probability_out_of_range_warns(chance: str, meaning: str) -> None:
    lines = warn(f"rules: [{{name: a, times: {{probability: {chance}}}, pass: true}}]")
    assert f"rules[0].times.probability: a probability lies between 0 and 1, {chance} means {meaning}" in lines


def limits(*entries: str) -> list[str]:
    text = "limits:\n" + "\n".join(f"- {{{entry}}}" for entry in entries)
    return [line for line in warn(text) if "never reached" in line]


@pytest.mark.parametrize(
    ("strict", "loose"),
    [
        pytest.param("amount: 10, window: 60s", "amount: 20, window: 60s", id="more in the same time"),
        pytest.param("amount: 10, window: 1s", "amount: 10, window: 1s", id="the same twice"),
        pytest.param("amount: 10, window: 60s", "amount: 10, window: 30s", id="as many in less time"),
        pytest.param("amount: 10, window: 60s", "vendor: azure, amount: 10, window: 60s", id="some of the calls"),
        pytest.param("amount: 10, window: 60s", "per: principal, amount: 10, window: 60s", id="a part for each"),
        pytest.param(
            "amount: 10, window: 60s, strategy: sliding", "amount: 20, window: 120s, strategy: sliding", id="sliding"
        ),
    ],
)
def test_limit_after_stricter_one_is_reported_unreachable(strict: str, loose: str) -> None:
    (line,) = limits(f"unit: requests, {strict}", f"unit: requests, {loose}")
    assert line == "limits[1].amount: the limit is never reached: limits[0] refuses first"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("unit: requests, amount: 10, window: 1s", "unit: tokens, amount: 10, window: 1s", id="units"),
        pytest.param("unit: requests, amount: 10, window: 1s", "unit: requests, amount: 50, window: 60s", id="burst"),
        pytest.param(
            "unit: requests, vendor: azure, amount: 1, window: 1s", "unit: requests, amount: 9, window: 1s", id="wider"
        ),
        pytest.param(
            "unit: requests, per: principal, amount: 1, window: 1s",
            "unit: requests, amount: 9, window: 1s",
            id="each and all",
        ),
        pytest.param(
            "unit: requests, amount: 10, window: 60s",
            "unit: requests, amount: 15, window: 60s, strategy: sliding",
            id="a bucket lets twice its amount through",
        ),
    ],
)
def test_limits_that_both_apply_get_no_warning(first: str, second: str) -> None:
    assert limits(first, second) == []


def test_tokens_limit_covers_input_tokens() -> None:
    (line,) = limits("unit: tokens, amount: 10, window: 1s", "unit: input_tokens, amount: 10, window: 1s")
    assert line.startswith("limits[1].amount")


def test_limit_of_misspelt_vendor_warns() -> None:
    found = warn("limits: [{vendor: azur, unit: requests, amount: 1, window: 1s}]\n")
    assert "limits[0].vendor: the limit is never reached: azur is not served; did you mean azure?" in found


def test_concurrency_limit_unreachable_under_load_warns() -> None:
    text = "latency: {load: {capacity: 4, queue: 4}}\nlimits: [{unit: concurrency, amount: 8}]\n"
    assert "limits[0].amount: the limit is never reached: load lets 8 calls in at the same time" in warn(text)


DEPENDS = "which calls it hits depends on request order; concurrent runs may differ"
COUNTS = "`per: request` avoids it"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param(
            "rules: [{name: a, times: {every: 2}, pass: true}]",
            f"rules[0].times: {DEPENDS}; {COUNTS}",
            id="counted per rule",
        ),
        pytest.param(
            "rules: [{name: a, per: deployment, sequence: [{pass: true}]}]",
            f"rules[0].sequence: {DEPENDS}; {COUNTS}",
            id="a sequence",
        ),
        pytest.param("limits: [{unit: requests, amount: 1, window: 1s}]", f"limits[0]: {DEPENDS}", id="a limit"),
        pytest.param("latency: {load: {capacity: 1}}", f"latency.load: {DEPENDS}", id="load"),
        pytest.param(
            "latency: {load: {capacity: 1}}\nlimits: [{unit: requests, amount: 1, window: 1s}]\n"
            "rules: [{name: a, times: {every: 2}, pass: true}]",
            f"rules[0].times: {DEPENDS}; the same holds for limits[0], latency.load; {COUNTS}",
            id="all of a file at once",
        ),
    ],
)
def test_order_dependence_warns(text: str, warning: str) -> None:
    assert warn(text) == [warning]


@pytest.mark.covers("promises/first steps", "order, said once a file")
def test_order_dependence_warns_once_per_file(tmp_path: Path) -> None:
    rule = "- {{name: {}, times: {{every: 2}}, pass: true}}\n"
    one, two = (rule.format(f"{name}1") + rule.format(f"{name}2") for name in "ab")
    paths = write(tmp_path, one__yaml=f"version: 1\nrules:\n{one}", two__yaml=f"version: 1\nrules:\n{two}")
    rows = lint(load_scenario(paths), VENDORS)
    assert [(row.file, row.line) for row in rows] == [(str(path), 3) for path in paths]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("rules: [{name: a, times: {every: 2, per: request}, pass: true}]", id="attempts of one request"),
        pytest.param("rules: [{name: a, times: {probability: 0.5}, pass: true}]", id="a chance"),
    ],
)
def test_order_independent_rules_get_no_warning(text: str) -> None:
    assert warn(text) == []


NAMES = st.lists(st.text("ab*", min_size=1, max_size=4), min_size=1, max_size=2)


@given(NAMES, NAMES, st.text("ab", max_size=5))
def test_covers_holds_for_every_call(general: list[str], special: list[str], name: str) -> None:
    wide, narrow = (When.model_validate({"deployment": names}) for names in (general, special))
    facts = build("v", ChatRequest(messages=()), deployment=name)
    (holds_wide,), (holds_narrow,) = (
        [check.holds(check.extract(facts)) for check in compile_when(when)] for when in (wide, narrow)
    )
    assert not (covers(fold(wide), fold(narrow)) and holds_narrow) or holds_wide


CATALOGUE = {
    "databricks": {
        "llama-70b": Deployment(vendor="databricks", name="llama-70b", default_max_tokens=500),
        "dbrx": Deployment(vendor="databricks", name="dbrx"),
        "gte": Deployment(vendor="databricks", name="gte", task="embeddings"),
    },
    "azure": {"gpt": Deployment(vendor="azure", name="gpt", max_output=200)},
}


@pytest.mark.parametrize(
    ("when", "hint"),
    [
        pytest.param("{deployment: lama-70b}", "serves lama-70b; did you mean llama-70b?", id="a typing error"),
        pytest.param("{deployment: 'x*'}", "serves x*", id="a glob that is of no use"),
        pytest.param("{vendor: azure, deployment: dbrx}", "serves dbrx", id="another vendor's"),
        pytest.param("{deployment: [dbrx, nothing]}", None, id="one of two"),
        pytest.param("{deployment: 'llama-*'}", None, id="a glob that is"),
        pytest.param("{vendor: 'data*', deployment: dbrx}", None, id="its own vendor's"),
    ],
)
def test_rule_on_unserved_deployment_warns(when: str, hint: str | None) -> None:
    text = f"version: 1\nrules: [{{name: a, when: {when}, pass: true}}]\n"
    rows = lint(load_text(text), VENDORS, CATALOGUE)
    if hint is None:
        assert rows == []
    else:
        (row,) = rows
        assert (row.path, hint in row.message) == ("rules[0].when.deployment", True)


def test_limit_on_unserved_deployment_warns() -> None:
    text = "version: 1\nlimits: [{deployment: x, unit: requests, amount: 1, window: 1s}]\n"
    assert "limits[0].deployment" in [row.path for row in lint(load_text(text), VENDORS, CATALOGUE)]


@pytest.mark.covers("promises/first steps", "a limit nobody can meet")
@pytest.mark.parametrize(
    ("limit", "reserved"),
    [
        pytest.param("vendor: databricks, unit: output_tokens, amount: 499", 500, id="the least that is set aside"),
        pytest.param("vendor: databricks, unit: output_tokens, amount: 500", None, id="just enough for one"),
        pytest.param("deployment: dbrx, unit: tokens, amount: 1000", 1024, id="as long as an answer can be"),
        pytest.param("unit: output_tokens, amount: 200", None, id="another vendor's fit"),
        pytest.param("unit: output_tokens, amount: 199", 200, id="a limit that no request exceeds"),
        pytest.param("deployment: gte, unit: tokens, amount: 1", None, id="vectors have no tokens"),
        pytest.param("unit: input_tokens, amount: 1", None, id="a unit that is not set aside"),
    ],
)
def test_limit_below_reserved_tokens_warns(limit: str, reserved: int | None) -> None:
    loaded = load_text(f"version: 1\nlimits: [{{{limit}, window: 60s}}]\n")
    said = [row.message for row in lint(loaded, VENDORS, CATALOGUE) if row.path == "limits[0].amount"]
    if reserved is None:
        assert said == []
    else:
        assert said == [f"no call without max_tokens can ever meet it: {reserved} tokens are set aside for it"]


def test_limit_of_misspelt_principal_warns() -> None:
    keys = "keys: [{token: k, principal: batch}]\n"
    found = warn(keys + "limits: [{principal: bach, unit: requests, amount: 1, window: 1s}]\n")
    assert "limits[0].principal: the limit is never reached: bach is not among the keys; did you mean batch?" in found


@pytest.mark.parametrize("keys", ["", "keys: []\n", "keys: [{token: k, principal: batch}]\n"])
@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        pytest.param(
            "rules: [{name: a, when: {principal: bob}, pass: true}]", "rules[0].when.principal", "", id="rule"
        ),
        pytest.param(
            "limits: [{principal: bob, unit: requests, amount: 1, window: 1s}]", "limits[0].principal", "", id="limit"
        ),
        pytest.param(
            "outages: [{name: a, kind: key_rotation, principal: bob, between: [1s, 2s]}]",
            "outages[0].principal",
            "the outage affects no call: ",
            id="outage",
        ),
    ],
)
def test_caller_that_does_not_exist_warns(keys: str, text: str, path: str, says: str) -> None:
    (found,) = [message for message in warn(f"{keys}{text}\n") if message.startswith(path)]
    known = "among the keys" if "batch" in keys else "a caller: `keys` name none but default"
    assert says in found
    assert found.endswith(f": bob is not {known}")
    assert not [row for row in warn(f"{keys}{text}\n".replace("bob", "default")) if row.startswith(path)]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("limits: [{per: principal, unit: requests, amount: 1, window: 1s}]", "limits[0].per"),
        ("rules: [{name: a, times: {first: 1, per: principal}, pass: true}]", "rules[0].times.per"),
        ("rules: [{name: a, per: principal, sequence: [{pass: true}]}]", "rules[0].per"),
    ],
)
def test_counting_callers_apart_without_keys_warns(text: str, path: str) -> None:
    assert f"{path}: all callers share it: without `keys` every caller is default" in warn(text)
    for more in ("keys: [{token: k, principal: a}]\n", "keys: []\n"):
        assert not [row for row in warn(more + text) if "all callers" in row]
    loaded = load_text(f"version: 1\n{text}")
    assert not [row for row in lint(loaded, VENDORS, knows_keys=False) if "all callers" in row.message]


def test_outage_of_nothing_warns() -> None:
    catalogue = {name: {"a": Deployment(vendor=name, name="a", task="chat")} for name in VENDORS}

    def read(names: str) -> list[str]:
        loaded = load_text(f"version: 1\noutages: [{{name: x, kind: region, {names}, between: [1s, 2s]}}]\n")
        return [f"{row.path}: {row.message} {row.code}" for row in lint(loaded, VENDORS, catalogue)]

    assert read("vendor: [azure, tgi]") == [
        "outages[0].vendor: the outage affects no call of tgi, which is not served EM010"
    ]
    assert read("vendor: azure, deployments: [a, '*b', c*]") == [
        "outages[0].deployments: the outage affects no call to *b, which no vendor it is about serves EM012",
        "outages[0].deployments: the outage affects no call to c*, which no vendor it is about serves EM012",
    ]
    assert read("deployments: ['*']") == []


@pytest.mark.covers("promises/first steps", "a reply that is not what it looks like")
@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        pytest.param(
            "when: {task: chat}, reply: {embedding: [1, 2]}",
            "reply.embedding: the rule is about chat, which cannot answer so",
            id="an embedding of a chat",
        ),
        pytest.param(
            "when: {task: embeddings}, reply: {text: Hi}",
            "reply.text: the rule is about embeddings, which cannot answer so",
            id="a text of an embedding",
        ),
        pytest.param(
            "when: {task: transcription}, reply: {text: Hi}, faults: [{type: disconnect, after_tokens: 1}]",
            None,
            id="a text of a transcription",
        ),
        pytest.param(
            "when: {deployment: gte}, reply: {json: 1}",
            "reply.json: the rule is about embeddings, which cannot answer so",
            id="what the deployment is for",
        ),
        pytest.param(
            "reply: {text: Hi}, faults: [{type: bad_arguments}]",
            "faults[0]: bad_arguments does nothing to an answer without tool call",
            id="a text has no arguments",
        ),
        pytest.param(
            "when: {task: completions}, faults: [{type: bad_arguments}]",
            "faults[0]: bad_arguments does nothing to an answer without tool call",
            id="a completion has no arguments",
        ),
        pytest.param(
            "when: {structured: false}, reply: {generate: invalid}",
            "reply.generate: the rule is about calls without a schema, of which nothing can be generated",
            id="no schema to break",
        ),
        pytest.param(
            "when: {task: completions}, reply: {tool_calls: [{name: a}]}",
            "reply.tool_calls: the rule is about completions, which cannot answer so",
            id="a completion calls no tools",
        ),
        pytest.param(
            "when: {task: [chat, rerank]}, sequence: [{pass: true}, {reply: {embedding: [1]}}], per: request",
            "sequence[1].reply.embedding: the rule is about chat and rerank, which cannot answer so",
            id="in a sequence",
        ),
        pytest.param("when: {task: [chat, embeddings]}, reply: {embedding: [1]}", None, id="one task that can"),
        pytest.param("reply: {embedding: [1]}", None, id="any task"),
        pytest.param("when: {deployment: 'g*'}, reply: {text: Hi}", None, id="one deployment that can"),
        pytest.param(
            "reply: {text: 'Hi {{name}}'}",
            "reply.text: {{name}} is sent as it is; with template: true {name} may be filled in",
            id="braces of another language",
        ),
        pytest.param(
            "reply: {text: 'Hi {prompt}'}",
            "reply.text: {prompt} is sent as it is; template: true fills it in",
            id="a placeholder that is none",
        ),
        pytest.param("reply: {text: 'Hi {prompt} {{', template: true}", None, id="a template"),
        pytest.param("reply: {text: 'Say {it}, or {\"a\": {}}'}", None, id="braces"),
        pytest.param(
            "when: {stream: false}, faults: [{type: stall, for: 1s}, {type: reorder}]",
            "faults[1]: reorder does nothing to an answer that is not streamed",
            id="events of an answer without any",
        ),
        pytest.param(
            "when: {task: embeddings}, faults: [{type: drop, field: done}]",
            "faults[0]: drop does nothing to an answer that is not streamed",
            id="the end of a stream that is none",
        ),
        pytest.param(
            "when: {stream: false}, faults: [{type: split, writes: event}]",
            "faults[0]: split does nothing to an answer that is not streamed",
            id="writes that end with an event",
        ),
        pytest.param("faults: [{type: reorder}]", None, id="a stream may come"),
        pytest.param(
            "faults: [{type: hang, for: 2s}, {type: truncate}]",
            "faults[1]: truncate does nothing after hang, which leaves no answer to bend",
            id="a fault after no answer",
        ),
        pytest.param(
            "faults: [{type: disconnect}, {type: status, status: 502}]",
            "faults[1]: status does nothing after disconnect, which leaves no answer to bend",
            id="a fault after a reset",
        ),
        pytest.param("faults: [{type: hang, at: 0.5}, {type: truncate, at: 0.2}]", None, id="a fault before a hang"),
        pytest.param("when: {stream: false}, faults: [{type: drop, field: [done, id]}]", None, id="more than the end"),
    ],
)
def test_ineffective_outcome_warns(rule: str, warning: str | None) -> None:
    loaded = load_text(f"version: 1\nrules: [{{name: a, {rule}}}]\n")
    said = [f"{row.path}: {row.message}" for row in lint(loaded, VENDORS, CATALOGUE)]
    assert said == ([] if warning is None else [f"rules[0].{warning}"])


LIMITS = st.builds(
    lambda amount, window, strategy: Limit.model_validate(
        {"unit": "requests", "amount": amount, "window": f"{window}s", "strategy": strategy}
    ),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["bucket", "fixed", "sliding"]),
)
CALLS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3)), max_size=30)  # quarter seconds since the last; cost


@settings(max_examples=30)
@given(LIMITS, LIMITS, CALLS)
async def test_limit_reported_idle_never_rejects_alone(
    strict: Limit, loose: Limit, calls: list[tuple[int, int]]
) -> None:
    assume(is_stricter(strict, loose, earlier=True))
    state, now = MemoryState(), 0.0
    quotas = [
        Quota(name=name, unit="requests", amount=limit.amount, window=limit.window or 0.0, strategy=limit.strategy)
        for name, limit in (("strict", strict), ("loose", loose))
    ]
    for number, (quarters, cost) in enumerate(calls):
        now += quarters / 4
        ticket = str(number).encode()
        first, second = await state.spend("", ticket, [Charge(quota, "", cost) for quota in quotas], now)
        assert second.wait is None or first.wait is not None
