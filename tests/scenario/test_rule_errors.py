"""Tests of diagnostics of rules."""

import pytest

from tests.scenario.texts import rows_of


@pytest.mark.parametrize(
    ("rule", "row"),
    [
        pytest.param(
            "error: {kind: internal, retry_afer: 2s}",
            "a.yaml:4:29: rules[0].error.retry_afer: unknown key; did you mean retry_after?",
            id="unknown key",
        ),
        pytest.param(
            "error: {kind: overload}",
            "a.yaml:4:19: rules[0].error.kind: expected invalid_request, invalid_parameter, unauthenticated, "
            "forbidden, not_found, method_not_allowed, payload_too_large, context_length, content_filter, "
            'rate_limited, overloaded, not_ready, timeout or internal, got "overload"; did you mean overloaded?',
            id="unknown error kind",
        ),
        pytest.param(
            "error: {kind: internal, headers: {'a b': c}}",
            "a.yaml:4:39: rules[0].error.headers.a b: expected a name that matches ^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
            id="header name",
        ),
        pytest.param(
            "when: {promt: x}\n    pass: true",
            "a.yaml:4:12: rules[0].when.promt: unknown key; did you mean prompt?",
            id="unknown facet",
        ),
        pytest.param(
            "when: {prompt: {contain: x}}\n    pass: true",
            "a.yaml:4:21: rules[0].when.prompt.contain: unknown key; did you mean contains?",
            id="unknown comparison",
        ),
        pytest.param(
            "when: {any: [{stream: true}, {header.a: {prefx: x}}]}\n    pass: true",
            "a.yaml:4:46: rules[0].when.any[1].header.a.prefx: unknown key; did you mean prefix?",
            id="unknown comparison in any",
        ),
        pytest.param(
            "when: {not: {not: {promt: x}}}\n    pass: true",
            "a.yaml:4:24: rules[0].when.not.not.promt: unknown key; did you mean prompt?",
            id="unknown facet in not",
        ),
        pytest.param(
            "when: {any: []}\n    pass: true",
            "a.yaml:4:17: rules[0].when.any: expected a list of at least 1, got a list",
            id="any of nothing",
        ),
        pytest.param(
            "when: {not: {}}\n    pass: true",
            "a.yaml:4:11: rules[0].when: expected a facet in each part of any and not",
            id="not without a facet",
        ),
        pytest.param(
            "when: {prompt: {ignore_case: true}}\n    pass: true",
            "a.yaml:4:20: rules[0].when.prompt: expected contains, prefix, suffix, regex or not",
            id="case without a comparison",
        ),
        pytest.param(
            "when: {messages.last.rol: user}\n    pass: true",
            "a.yaml:4:12: rules[0].when.messages.last.rol: unknown key; did you mean messages.last.role?",
            id="unknown facet with dots",
        ),
        pytest.param(
            "when: {prompt: {}}\n    pass: true",
            "a.yaml:4:20: rules[0].when.prompt: expected contains, prefix, suffix, regex or not",
            id="empty comparison",
        ),
        pytest.param(
            "when: {prompt: 5}\n    pass: true",
            "a.yaml:4:20: rules[0].when.prompt: expected a string or a comparison such as contains, got 5",
            id="a number is no text",
        ),
        pytest.param(
            "when: {header.x-a: {not: {contain: x}}}\n    pass: true",
            "a.yaml:4:31: rules[0].when.header.x-a.not.contain: unknown key; did you mean contains?",
            id="unknown comparison under not, of a header",
        ),
        pytest.param(
            "when: {prompt: {regex: '('}}\n    pass: true",
            'a.yaml:4:28: rules[0].when.prompt.regex: expected a regular expression (missing )), got "("',
            id="regular expression",
        ),
        pytest.param(
            "when: {body.a..b: x}\n    pass: true",
            "a.yaml:4:12: rules[0].when.body.a..b: expected a dotted path with [n], such as body.messages[0].role",
            id="body path",
        ),
        pytest.param(
            "when: {header.: x}\n    pass: true",
            "a.yaml:4:12: rules[0].when.header.: unknown key; did you mean header.<name>?",
            id="no name",
        ),
        pytest.param(
            "when: {prompt_tokens: {over: 5}}\n    pass: true",
            "a.yaml:4:28: rules[0].when.prompt_tokens.over: unknown key; did you mean above?",
            id="unknown bound",
        ),
        pytest.param(
            "when: {principal: [a, 5]}\n    pass: true",
            "a.yaml:4:27: rules[0].when.principal[1]: expected a string, got 5",
            id="wrong item of a list",
        ),
        pytest.param(
            "when: {principal: }\n    pass: true",
            "a.yaml:4:23: rules[0].when.principal: expected a name or a list of names, got null",
            id="facet without value",
        ),
        pytest.param(
            "times: {evry: 3}\n    pass: true",
            "a.yaml:4:13: rules[0].times.evry: unknown key; did you mean every?",
            id="unknown times",
        ),
        pytest.param(
            "times: {every: 0}\n    pass: true",
            "a.yaml:4:20: rules[0].times.every: expected at least 1, got 0",
            id="every zeroth",
        ),
        pytest.param(
            "times: {between: [60s, 30s]}\n    pass: true",
            "a.yaml:4:12: rules[0].times: expected between to end after it begins",
            id="between the wrong way round",
        ),
        pytest.param(
            "times: {first: 1, per: caller}\n    pass: true",
            'a.yaml:4:28: rules[0].times.per: expected rule, request, principal or deployment, got "caller"',
            id="unknown scope",
        ),
        pytest.param(
            "faults: [{type: disconect}]",
            "a.yaml:4:21: rules[0].faults[0].type: unknown type, expected disconnect, truncate, stall, hang, drip, "
            "late_error, garbage, drop, duplicate, reorder, wrong_usage, wrong_content_type, empty_body, "
            "extra_fields, split, status, bad_arguments, got disconect; did you mean disconnect?",
            id="unknown fault",
        ),
        pytest.param(
            "faults: [{for: 2s}]", "a.yaml:4:14: rules[0].faults[0].type: missing key", id="fault without type"
        ),
        pytest.param(
            "reply: {text: a, json: 1}",
            "a.yaml:4:12: rules[0].reply: expected only one of text, json, refusal, embedding, embeddings, generate",
            id="two answers",
        ),
        pytest.param(
            "reply: {generate: typicl}",
            "a.yaml:4:23: rules[0].reply.generate: expected typical, minimal, boundary, adversarial or invalid, "
            'got "typicl"; did you mean typical?',
            id="unknown way to generate",
        ),
        pytest.param(
            "when: {}",
            "a.yaml:3:5: rules[0]: expected an outcome: error, reply, latency, faults, pass or sequence",
            id="no outcome",
        ),
        pytest.param(
            "error: {kind: internal}\n    reply: {text: a}",
            "a.yaml:3:5: rules[0]: expected either error or reply",
            id="error and reply",
        ),
        pytest.param(
            "pass: true\n    reply: {text: a}",
            "a.yaml:3:5: rules[0]: expected pass to stand alone",
            id="pass and reply",
        ),
        pytest.param("pass: false", "a.yaml:3:5: rules[0]: expected pass to be true", id="pass that does not"),
        pytest.param(
            "pass: true\n    then: last", "a.yaml:3:5: rules[0]: then and per need a sequence", id="then alone"
        ),
        pytest.param(
            "pass: true\n    sequence: [{pass: true}]",
            "a.yaml:3:5: rules[0]: expected either a sequence or one outcome",
            id="sequence and outcome",
        ),
        pytest.param(
            "sequence: [{eror: {kind: timeout}}]",
            "a.yaml:4:17: rules[0].sequence[0].eror: unknown key; did you mean error?",
            id="a step with a wrong key is no missing step",
        ),
        pytest.param(
            "sequence: []", "a.yaml:4:15: rules[0].sequence: expected a list of at least 1, got a list", id="no steps"
        ),
        pytest.param(
            "sequence: [{pass: true}, {}]",
            "a.yaml:4:30: rules[0].sequence[1]: expected an outcome: error, reply, latency, faults or pass",
            id="empty step",
        ),
    ],
)
def test_rule_error_row(rule: str, row: str) -> None:
    assert rows_of(f"version: 1\nrules:\n  - name: r\n    {rule}\n") == [row]
