"""Sections of the language reference, in order: every object of the language, with an example of every key.

An example is what an author writes in place of the ``…`` of its section; ``tests/tools/docs/test_reference.py``
serves each.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_RULE = "rules: [{name: example, %s}]"
_WHEN = _RULE % "when: …, pass: true"
_REPLY = _RULE % "reply: …"
_TTFT = "latency: {ttft: …}"
_FAULT = _RULE % "faults: […]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One object of the language.

    Fields:
        model: its name in the schema; empty: the file itself.
        place: its place in a scenario, with ``…`` for itself.
        examples: one for every key; a key that is missing here is described elsewhere.
        intro: in place of the model's own words.
        level: of its heading.
    """

    title: str
    model: str
    place: str
    examples: Mapping[str, str]
    intro: str = ""
    level: int = 3


@dataclass(frozen=True, slots=True)
class Chapter:
    """Introductions of some sections."""

    title: str
    intro: str


def _fault(name: str, model: str, own: str = "", **examples: str) -> Section:
    """A fault; ``own``: what an example without its other keys still needs."""
    given = {"type": f"{{type: {name}{own}}}", **examples}
    return Section(title=name, model=model, place=_FAULT, examples=given)


def _delay(name: str, model: str, example: str, **examples: str) -> Section:
    """A distribution; one example serves the keys that have none of their own."""
    keys = [pair.split(":")[0].strip("{ ") for pair in example.split(", ")]
    given = {key: example for key in ["type", *keys]}
    return Section(title=name, model=model, place=_TTFT, examples={**given, **examples})


_DECLARED = "deployments: [{vendor: azure, name: mine, task: embeddings, embeddings: {geometry: declared, %s}}]"
_NEAR, _QUERY = _DECLARED % "near: […]", _DECLARED % "query: …"
_SERVED = "{vendor: azure, name: mine, %s}"
_LIMIT = "{vendor: azure, per: principal, unit: output_tokens, amount: 4000, window: 60s, strategy: sliding}"
_CALL = "{name: get_weather, arguments: {city: Paris}, id: call_1}"

CONTENTS: tuple[Chapter | Section, ...] = (
    Section(
        title="The file",
        model="",
        place="…",
        level=2,
        examples={
            "version": "version: 1",
            "name": "name: throttled-search-team",
            "description": "description: One principal gets 429 at every third call.",
            "seed": "seed: 7",
            "clock": "clock: instant",
            "strict": "strict: true",
            "vendors": "vendors: {tgi: false, azure: {profile: maas}}",
            "keys": "keys: [{token: dapi-search, principal: search}]",
            "deployments": "deployments: [{vendor: databricks, name: llama-70b, context: 131072}]",
            "latency": "latency: {ttft: 180ms, itl: 12ms}",
            "limits": "limits: [{unit: requests, amount: 60, window: 60s}]",
            "journal": "journal: {bodies: none}",
            "timing": "timing: {invalid_above: 5ms}",
            "bounds": "bounds: {inputs: 10000, body: 128MiB}",
            "replay": "replay: {from: recordings, timing: none}",
            "unmatched": "unmatched: refuse",
            "outages": "outages: [{name: north, kind: region, deployments: [a, b], between: [60s, 120s]}]",
            "expect": "expect: robust",
            "prices": "prices: {'gpt-4o*': {input: 2.5, output: 10}}",
            "budget": "budget: {output_tokens: 5000, cost: 0.02 USD}",
            "rules": "rules: [{name: busy, error: {kind: overloaded}}]",
        },
    ),
    Section(
        title="Scaled clock",
        model="Scale",
        place="clock: …",
        examples={"scale": "{scale: 60}", "start": "{scale: 60, start: 2026-11-23T09:55:00Z}"},
    ),
    Section(
        title="Clock with a start",
        model="ClockSettings",
        place="clock: …",
        examples={
            "kind": "{kind: instant}",
            "start": "{kind: frozen, start: 2026-11-23T09:55:00Z}",
            "retry_after_ms": "{kind: instant, retry_after_ms: false}",
        },
    ),
    Section(
        title="Key",
        model="Key",
        place="keys: […]",
        examples=dict.fromkeys(("token", "principal"), "{token: dapi-search, principal: search}"),
    ),
    Section(
        title="Deployment",
        model="DeploymentEntry",
        place="deployments: […]",
        examples={
            "vendor": "{vendor: azure, name: mine}",
            "name": "{vendor: azure, name: mine}",
            "task": _SERVED % "task: embeddings",
            "model": _SERVED % "model: gpt-4o-2024-08-06",
            "context": _SERVED % "context: 8192",
            "max_output": _SERVED % "max_output: 1024",
            "default_max_tokens": _SERVED % "default_max_tokens: 256",
            "dimensions": _SERVED % "task: embeddings, dimensions: 3072",
            "normalized": _SERVED % "task: embeddings, normalized: true",
            "embeddings": _SERVED % "task: embeddings, embeddings: {geometry: lexical}",
            "tokenizer": _SERVED % "tokenizer: llama3",
            "mode": "{vendor: databricks, name: mine, mode: provisioned}",
            "state": "{vendor: openvino, name: mine, state: loading}",
            "kind": "{vendor: openvino, name: mine, kind: speculative}",
            "traits": _SERVED % "traits: {note: anything}",
        },
    ),
    Section(
        title="Embeddings",
        model="EmbeddingSettings",
        place="deployments: [{vendor: azure, name: mine, task: embeddings, embeddings: …}]",
        examples={
            "geometry": "{geometry: lexical}",
            "otherwise": "{geometry: declared, clusters: {animals: [cat, dog]}, otherwise: hashed}",
            "texts": "{geometry: declared, texts: {pay: How to pay}, query: {text: money, ranks: [pay]}}",
            "clusters": "{geometry: declared, clusters: {animals: [cat, kitten, dog], vehicles: [car, lorry]}}",
            "near": "{geometry: declared, near: [{a: cat, b: dog, cosine: 0.83}]}",
            "query": "{geometry: declared, query: {text: a pet, ranks: [dog, cat]}}",
            "captions": "{geometry: lexical, captions: {'https://example.com/1.png': a black cat}}",
        },
    ),
    Section(
        title="Vocabulary",
        model="TokenizerFile",
        place="deployments: [{vendor: azure, name: mine, tokenizer: …}]",
        examples={"file": "{file: bytes.tiktoken}"},
    ),
    Section(
        title="Near",
        model="NearEntry",
        place=_NEAR,
        examples=dict.fromkeys(("a", "b", "cosine"), "{a: cat, b: dog, cosine: 0.83}"),
    ),
    Section(
        title="Query",
        model="QueryEntry",
        place=_QUERY,
        examples={
            "text": "{text: a pet, ranks: [dog, cat]}",
            "pattern": "{pattern: '(?i)pets?', ranks: [dog, cat]}",
            "ranks": "{text: a pet, ranks: [dog, cat]}",
        },
    ),
    Section(
        title="Journal",
        model="JournalSettings",
        place="journal: …",
        examples={"bodies": "{bodies: 16KiB}", "entries": "{entries: 500}"},
    ),
    Section(
        title="Replay",
        model="Replay",
        place="replay: …",
        examples={
            "from": "{from: recordings}",
            "exchanges": '{exchanges: ["a\\nexchange 1\\n=== request\\nGET /info\\n"]}',
            "match": "{from: recordings, match: [prompt]}",
            "timing": "{from: recordings, timing: {scaled: 2}}",
            "after": "{from: recordings, after: refuse}",
        },
    ),
    Section(
        title="Scaled times of a replay",
        model="TimingScale",
        place="replay: {from: recordings, timing: …}",
        examples={"scaled": "{scaled: 2}"},
    ),
    Section(
        title="Outage",
        model="Outage",
        place="outages: […]",
        examples={
            **dict.fromkeys(("name", "kind", "between"), "{name: north, kind: region, between: [60s, 120s]}"),
            "vendor": "{name: north, kind: region, vendor: [azure, tgi], between: [60s, 120s]}",
            "deployments": "{name: north, kind: region, deployments: [a, b], between: [60s, 120s]}",
            "principal": "{name: keys, kind: key_rotation, principal: batch, between: [60s, 120s]}",
            "random": "{name: north, kind: region, random: {every: 1h, mean: 5m, seed: 3}}",
            "share": "{name: canary, kind: bad_deploy, share: 0.1, between: [60s, 120s]}",
            "served": "{name: canary, kind: bad_deploy, served: canary, between: [60s, 120s]}",
            "for": "{name: north, kind: slow_recovery, between: [60s, 120s], for: 5m}",
            "ttft": "{name: slow, kind: brown_out, share: 0.2, ttft: 8s, between: [60s, 120s]}",
        },
    ),
    Section(
        title="Drawn times",
        model="DrawnWindows",
        place="outages: [{name: north, kind: region, random: …}]",
        examples=dict.fromkeys(("every", "mean", "seed"), "{every: 1h, mean: 5m, seed: 3}"),
    ),
    Section(
        title="What is expected of clients",
        model="ExpectedConduct",
        place="expect: …",
        examples={
            "robust": "{robust: false, deadline: 30s}",
            "honours_retry_after": "{honours_retry_after: false}",
            "backs_off": "{backs_off: false}",
            "jitter": "{jitter: false}",
            "attempts": "{attempts: 3}",
            "no_useless_retry": "{no_useless_retry: false}",
            "retries_after_delivery": "{retries_after_delivery: true}",
            "deadline": "{deadline: 30s}",
            "hedges": "{hedges: 2}",
            "closes_within": "{closes_within: 2s}",
            "incomplete_stream_failed": "{incomplete_stream_failed: false}",
            "no_bad_arguments": "{no_bad_arguments: false}",
            "one_idempotency_key": "{one_idempotency_key: false}",
            "concurrency": "{concurrency: 8}",
            "reuses_connections": "{reuses_connections: true}",
        },
    ),
    Section(
        title="Price",
        model="TokenPrice",
        place="prices: {gpt-4o: …}",
        examples={
            "input": "{input: 0.1}",
            "output": "{input: 2.5, output: 10}",
            "per_hour": "{per_hour: 100, unit: PTU}",
            "unit": "{input: 7.143, output: 21.429, unit: DBU}",
            **dict.fromkeys(("source", "date"), "{input: 2.5, output: 10, source: our contract, date: 2026-11-26}"),
        },
    ),
    Section(
        title="Budget",
        model="BudgetSettings",
        place="budget: …",
        examples={
            "output_tokens": "{output_tokens: 5000}",
            "cost": "{cost: 0.02 USD}",
            "attempts": "{attempts: 3}",
            "enforce": "{output_tokens: 5000, enforce: true}",
        },
    ),
    Section(
        title="Timing",
        model="TimingSettings",
        place="timing: …",
        examples={"invalid_above": "{invalid_above: 5ms}"},
    ),
    Section(
        title="Bounds of a call",
        model="CallBounds",
        place="bounds: …",
        examples={
            "body": "{body: 128MiB}",
            "decompressed": "{decompressed: 64MiB}",
            "values": "{values: 1000000}",
            "text": "{text: 128MiB}",
            "messages": "{messages: 100}",
            "tools": "{tools: 64}",
            "inputs": "{inputs: 10000}",
            "answers": "{answers: 16}",
            "tokens": "{tokens: 1000000}",
            "components": "{components: 10000000}",
            "faults": "{faults: 2}",
            "added": "{added: 64KiB}",
            "writes": "{writes: 1000}",
        },
    ),
    Section(
        title="Limit",
        model="Limit",
        place="limits: […]",
        level=2,
        examples={
            "name": "{name: calls a minute, unit: requests, amount: 60, window: 60s}",
            "vendor": "{vendor: azure, unit: requests, amount: 60, window: 60s}",
            "deployment": "{deployment: llama-*, unit: requests, amount: 60, window: 60s}",
            "principal": "{principal: batch-*, unit: requests, amount: 60, window: 60s}",
            "per": _LIMIT,
            "unit": "{unit: concurrency, amount: 8}",
            "amount": "{unit: tokens, amount: 20000, window: 1m}",
            "window": "{unit: input_tokens, amount: 20000, window: 1m}",
            "strategy": _LIMIT,
        },
    ),
    Section(
        title="Rule",
        model="Rule",
        place="rules: […]",
        level=2,
        examples={
            "name": "{name: no answer at all, error: {kind: overloaded}}",
            "when": "{name: streams, when: {stream: true}, latency: {ttft: 2s}}",
            "times": "{name: the first two, times: {first: 2}, error: {kind: rate_limited}}",
            "error": "{name: busy, error: {kind: rate_limited, retry_after: 2s}}",
            "reply": "{name: greets, reply: {text: Good day.}}",
            "latency": "{name: slow, latency: {ttft: 20s}}",
            "faults": "{name: cut, faults: [{type: disconnect, after_tokens: 20}]}",
            "pass": "{name: spared, when: {principal: search}, pass: true}",
            "sequence": "{name: in turn, sequence: [{error: {kind: timeout}}, {reply: {text: At last.}}]}",
            "per": "{name: in turn for each, per: principal, sequence: [{error: {kind: timeout}}, {pass: true}]}",
            "then": "{name: again and again, sequence: [{error: {kind: timeout}}, {pass: true}], then: repeat}",
        },
    ),
    Section(
        title="when",
        model="When",
        place=_WHEN,
        level=2,
        examples={
            "vendor": "{vendor: [azure, tgi]}",
            "deployment": "{deployment: llama-*}",
            "served": "{served: canary}",
            "task": "{task: embeddings}",
            "endpoint": "{endpoint: /v1/*}",
            "principal": "{principal: search}",
            "session": "{session: a}",
            "stream": "{stream: true}",
            "structured": "{structured: true}",
            "multimodal": "{multimodal: false}",
            "prompt": "{prompt: {contains: weather}}",
            "system": "{system: {prefix: You are}}",
            "tools": "{tools: get_weather}",
            "tool_result": "{tool_result: {contains: error}}",
            "tool_called": "{tool_called: search}",
            "prompt_tokens": "{prompt_tokens: {above: 4000}}",
            "max_tokens": "{max_tokens: {above: 100, below: 1000}}",
            "messages": "{messages: 1}",
            "messages.last.role": "{messages.last.role: tool}",
            "turn": "{turn: 2}",
            "body_bytes": "{body_bytes: {above: 64KiB}}",
            "header.<name>": "{header.user-agent: {contains: openai}}",
            "query.<name>": "{query.api-version: 2024-05-01-preview}",
            "body.<path>": "{'body.messages[0].role': system}",
            "any": "{any: [{stream: true}, {prompt_tokens: {above: 4000}}]}",
            "not": "{not: {principal: search}}",
        },
    ),
    Section(
        title="Comparison",
        model="Comparison",
        place=_RULE % "when: {prompt: …}, pass: true",
        examples={
            "contains": "{contains: weather}",
            "prefix": "{prefix: Summarize}",
            "suffix": "{suffix: '?'}",
            "regex": "{regex: '[0-9]{4}'}",
            "not": "{not: {contains: weather}}",
            "ignore_case": "{contains: weather, ignore_case: true}",
        },
    ),
    Section(
        title="Bounds",
        model="Bounds",
        place=_RULE % "when: {prompt_tokens: …}, pass: true",
        examples={"above": "{above: 4000}", "below": "{above: 10, below: 20}"},
    ),
    Section(
        title="times",
        model="Times",
        place=_RULE % "times: …, error: {kind: overloaded}",
        level=2,
        examples={
            "first": "{first: 2}",
            "nth": "{nth: [1, 3]}",
            "every": "{every: 3}",
            "after": "{after: 10}",
            "probability": "{probability: 0.05}",
            "share": "{share: {of: 10, salt: canary}}",
            "between": '{between: ["10:00", "10:05"]}',
            "repeat": "{repeat: {every: 60s, for: 10s}}",
            "per": "{first: 1, per: request}",
        },
    ),
    Section(
        title="Share",
        model="Share",
        place=_RULE % "times: {share: …}, error: {kind: overloaded}",
        examples={"of": "{of: 10}", "salt": "{of: 10, salt: canary}"},
    ),
    Section(
        title="Burst",
        model="Burst",
        place=_RULE % "times: {repeat: …}, error: {kind: overloaded}",
        examples=dict.fromkeys(("every", "for"), "{every: 60s, for: 10s}"),
    ),
    Chapter("Outcomes", "You can combine `latency` and `faults` with an `error` or a `reply`, or use them alone."),
    Section(
        title="error",
        model="ErrorOutcome",
        place=_RULE % "error: …",
        examples={
            "kind": "{kind: overloaded}",
            "param": "{kind: invalid_parameter, param: temperature}",
            "limit": "{kind: rate_limited, limit: output_tokens}",
            "status": "{kind: internal, status: 502}",
            "message": "{kind: content_filter, message: Not about this.}",
            "retry_after": "{kind: rate_limited, retry_after: 2s}",
            "body": "{kind: internal, body: {code: E17}}",
            "headers": "{kind: internal, headers: {x-proxy: edge-3}}",
            "after": "{kind: internal, after: state}",
        },
    ),
    Section(
        title="reply",
        model="ReplyOutcome",
        place=_REPLY,
        examples={
            "text": "{text: Good day.}",
            "template": "{template: true, text: 'You said {prompt}'}",
            "file": "{file: answers/tides.md}",
            "tool_calls": "{tool_calls: [{name: get_weather, arguments: {city: Paris}}]}",
            "json": "{json: {city: Paris, degrees: 21}}",
            "refusal": "{refusal: I cannot help with that.}",
            "embedding": "{embedding: [0.6, 0.8]}",
            "embeddings": "{embeddings: [{when: cat, vector: [0.6, 0.8]}], pad: true}",
            "pad": "{embedding: [0.6, 0.8], pad: true}",
            "reasoning": "{reasoning: They greet me., text: Good day.}",
            "chunks": "{chunks: [Good, ' day', .]}",
            "generate": "{generate: minimal}",
            "finish_reason": "{text: It was a dark and, finish_reason: length}",
            "usage": "{text: Good day., usage: {completion_tokens: 1000}}",
        },
    ),
    Section(
        title="Tool call",
        model="FixedToolCall",
        place=_RULE % "reply: {tool_calls: […]}",
        examples=dict.fromkeys(("name", "arguments", "id"), _CALL),
    ),
    Section(
        title="Vector of an input",
        model="InputVector",
        place=_RULE % "reply: {pad: true, embeddings: […]}",
        examples=dict.fromkeys(("when", "vector"), "{when: {contains: cat}, vector: [0.6, 0.8]}"),
    ),
    Section(
        title="Usage",
        model="FixedUsage",
        place=_RULE % "reply: {text: Good day., usage: …}",
        examples={
            "prompt_tokens": "{prompt_tokens: 10}",
            "completion_tokens": "{completion_tokens: 1000}",
            "reasoning_tokens": "{completion_tokens: 1000, reasoning_tokens: 900}",
        },
    ),
    Section(
        title="Latency",
        model="Latency",
        place="latency: …",
        level=2,
        examples={
            "ttft": "{ttft: {type: lognormal, median: 180ms, p99: 900ms}}",
            "itl": "{itl: 12ms}",
            "prefill": "{prefill: 0.2ms}",
            "load": "{itl: 12ms, load: {capacity: 32, factor: 3.0, queue: 128}}",
        },
    ),
    Section(
        title="Load",
        model="Load",
        place="latency: {load: …}",
        examples={
            "capacity": "{capacity: 32}",
            "factor": "{capacity: 32, factor: 3.0}",
            "queue": "{capacity: 32, queue: 128}",
        },
    ),
    Section(
        title="Distribution",
        model="Constant",
        place=_TTFT,
        intro="The distribution of a delay. A bare duration is a `constant`. Every type takes:",
        examples={"max": "{type: normal, mean: 1s, stddev: 1s, max: 3s}"},
    ),
    _delay("constant", "Constant", "{type: constant, value: 200ms}"),
    _delay("uniform", "Uniform", "{type: uniform, low: 1s, high: 9s}"),
    _delay("normal", "Normal", "{type: normal, mean: 12ms, stddev: 3ms}"),
    _delay(
        "lognormal",
        "Lognormal",
        "{type: lognormal, median: 180ms, p99: 900ms}",
        sigma="{type: lognormal, median: 180ms, sigma: 0.7}",
        mean="{type: lognormal, median: 180ms, mean: 230ms}",
    ),
    _delay("gamma", "Gamma", "{type: gamma, mean: 12ms, cv: 0.5}"),
    _delay("pareto", "Pareto", "{type: pareto, minimum: 100ms, alpha: 1.5}"),
    Section(
        title="empirical",
        model="Empirical",
        place=_TTFT,
        examples=dict.fromkeys(
            ("type", "quantiles"), "{type: empirical, quantiles: {p50: 200ms, p90: 450ms, p99: 2s}}"
        ),
    ),
    Section(
        title="histogram",
        model="Histogram",
        place=_TTFT,
        examples=dict.fromkeys(
            ("type", "edges", "weights"), "{type: histogram, edges: [0s, 100ms, 1s], weights: [9, 1]}"
        ),
    ),
    Section(
        title="mixture",
        model="Mixture",
        place=_TTFT,
        examples=dict.fromkeys(
            ("type", "parts"),
            "{type: mixture, parts: [{weight: 95, type: constant, value: 200ms}, "
            "{weight: 5, type: pareto, minimum: 2s, alpha: 2}]}",
        ),
    ),
    Section(
        title="Part of a mixture",
        model="ConstantPart",
        place="latency: {ttft: {type: mixture, parts: […]}}",
        intro="Any distribution except a mixture. In addition to its own keys it takes:",
        examples={"weight": "{weight: 95, type: constant, value: 200ms}"},
    ),
    Chapter("Faults", "`faults` change a response, in the order of the list. Each has a `type` and the keys below."),
    Section(
        title="Position",
        model="Disconnect",
        place=_FAULT,
        intro="Where in the response a fault takes effect. Use at most one of the first four; add `inside` to any.",
        examples={
            "after_tokens": "{type: disconnect, after_tokens: 20}",
            "after_bytes": "{type: disconnect, after_bytes: 1000}",
            "at": "{type: disconnect, at: 0.5}",
            "before": "{type: disconnect, before: finish}",
            "inside": "{type: disconnect, after_tokens: 20, inside: utf8}",
        },
    ),
    _fault("disconnect", "Disconnect"),
    _fault("truncate", "Truncate"),
    _fault("stall", "Stall", ", for: 30s", **{"for": "{type: stall, after_tokens: 5, for: 30s}"}),
    _fault("hang", "Hang", **{"for": "{type: hang, for: 2m}"}),
    _fault("drip", "Drip", ", bytes_per_second: 20", bytes_per_second="{type: drip, bytes_per_second: 20}"),
    _fault(
        "late_error",
        "LateError",
        kind="{type: late_error, after_tokens: 5, kind: overloaded}",
        message="{type: late_error, message: The engine has died.}",
    ),
    _fault("garbage", "Garbage"),
    _fault("drop", "Drop", ", field: usage", field="{type: drop, field: [id, choices.logprobs]}"),
    _fault("duplicate", "Duplicate"),
    _fault("reorder", "Reorder"),
    _fault("wrong_usage", "WrongUsage"),
    _fault("wrong_content_type", "WrongContentType", value="{type: wrong_content_type, value: text/plain}"),
    _fault("empty_body", "EmptyBody"),
    _fault(
        "extra_fields",
        "ExtraFields",
        fields="{type: extra_fields, fields: {trace: abc}}",
        at="{type: extra_fields, at: choices.message}",
    ),
    _fault("split", "Split", ", writes: line", writes="{type: split, writes: utf8}"),
    _fault("status", "Status", ", status: 502", status="{type: status, status: 502}"),
    _fault("bad_arguments", "BadArguments", how="{type: bad_arguments, how: not_json}"),
)
SECTIONS = tuple(entry for entry in CONTENTS if isinstance(entry, Section))
POSITION = frozenset({"after_tokens", "after_bytes", "at", "before", "inside"})

# Objects described with others: parts of a mixture are distributions with a weight, a step has a rule's outcomes.
TOLD_WITH_OTHERS = frozenset(
    {"ErrorKind", "SizeBounds", "Step"}
    | {f"{name}Part" for name in ("Empirical", "Gamma", "Histogram", "Lognormal", "Normal", "Pareto", "Uniform")}
)
