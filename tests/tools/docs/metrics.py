"""The page on metrics, from the exported metric families."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from emulator.observability.metrics import FAMILIES, SCHEMA, Family
from emulator.observability.totals import DURATIONS, FIRST_TOKENS, OTHER, PER_TOKEN

_HEAD = """\
<!-- Made by `python -m tests.tools.docs`; a test compares it with the program. -->

# Metrics

Read this page to watch a running emulator with Prometheus. `GET /_emulator/metrics` returns metrics of all requests in its text format. Add
`?session=NAME` for the metrics of one session. The metrics that a vendor itself offers are at the vendor's own paths.

Requests are counted after they end: in groups of some hundred, or when you read the metrics. So metrics do not slow down a response.

```yaml
# prometheus.yml
scrape_configs:
  - job_name: emulator
    metrics_path: /_emulator/metrics
    static_configs: [{targets: ["127.0.0.1:4010"]}]
```

Scrape each replica by itself. For a server with `--control-token`, add `authorization: {credentials: TOKEN}`.

[grafana.json](grafana.json) is a Grafana dashboard of all these metrics. Import it with *Dashboards*, *New*, *Import*, and select your data
source.

| metric | kind | labels | meaning |
| --- | --- | --- | --- |
"""
_REST = f"""
## Labels

- `model` and `gen_ai_request_model` are names of deployments, from the vendor's model list or your scenario. Any other model is `{OTHER}`, so
  clients cannot create labels. The first thousand names of rules have labels of their own. `?session=` works for the
  thousand most recent sessions.
- `code` is the HTTP status; 0 is a request that ended without a response.
- `error` and `error_type` are absent if nothing failed. Otherwise they are the kind of refusal (`rate_limited`), a status that a fault set
  (`502`), `client_left`, or `cut` for a response that a fault ended.
- `gen_ai_provider_name` is `azure.ai.openai` below `/openai`, `azure.ai.inference` elsewhere on Azure, and the vendor's name for all others.
- `gen_ai_operation_name` is `chat`, `text_completion`, `embeddings`, `rerank`, `images`, `transcription` or `speech`, by the route: a text completion of a
  chat model is `text_completion`. A refused request for an unknown model counts under the model `_OTHER`.
- `cache` is one of three: `heads` (request heads [seen before](performance.md#one-path-for-every-request)), `calls` (requests repeated byte for byte, cached at the third) or
  `texts` (token counts of prompts). All of these caches are bounded. The cache of words and their tokens is not counted, because it is used too often.
- Completion tokens are tokens that were sent. A client that disconnects after the third token counts three.

Times are scenario time: with `clock: {{scale: 60}}` a minute in a histogram is one real second.

## OpenTelemetry conventions

The names that begin with `gen_ai_server` are OpenTelemetry's [metrics of model servers](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-metrics.md),
as its exporters write them for Prometheus. The buckets are taken from that document. The document is in development; `emulator_build_info` names
the schema, `{SCHEMA}`.

| histogram | buckets, seconds |
| --- | --- |
"""


def render() -> str:
    """The whole page."""
    buckets = {"request_duration": DURATIONS, "time_to_first_token": FIRST_TOKENS, "time_per_output_token": PER_TOKEN}
    rows = [
        f"| `gen_ai_server_{name}_seconds` | {', '.join(f'{b:g}' for b in some)} |" for name, some in buckets.items()
    ]
    return "".join([_HEAD, *(f"{_tell(family)}\n" for family in FAMILIES), _REST, *(f"{row}\n" for row in rows)])


def _tell(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    alone = "" if family.of_session else " Not by session."
    return f"| `{family.name}` | {family.kind} | {labels} | {family.text}{alone} |"
