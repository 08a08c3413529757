"""The page on metrics, from the families that are told."""

# ruff: noqa: E501 -- the page is as wide as its neighbours

from emulator.observability.metrics import FAMILIES, SCHEMA, Family
from emulator.observability.totals import DURATIONS, FIRST_TOKENS, OTHER, PER_TOKEN

_HEAD = """\
<!-- Made by `python -m tests.tools.docs`; a test compares it with the program. -->

# Metrics

`GET /_emulator/metrics` tells in Prometheus' text format what the calls of this process add up to; `?session=NAME` what a session's do. The
vendors' own metrics keep their own paths and names. Nothing is written down while a call is answered: calls that are over are counted some
hundred at a time, or when somebody asks.

```yaml
# prometheus.yml
scrape_configs:
  - job_name: emulator
    metrics_path: /_emulator/metrics
    static_configs: [{targets: ["127.0.0.1:4010"]}]
```

Each replica is scraped on its own. A server with `--control-token` takes it as `authorization: {credentials: TOKEN}`.

[grafana.json](grafana.json) is a dashboard over all of them: *Dashboards*, *New*, *Import*; it asks for nothing but the data source.

| metric | kind | labels | tells |
| --- | --- | --- | --- |
"""
_REST = f"""
## What the labels say

- `model` and `gen_ai_request_model` are deployments of the catalogue and of scenarios by their names; whatever else a client asks for is
  `{OTHER}`, so that clients cannot make labels up. Of rules the first thousand names are told, of sessions the thousand used last.
- `code` is the status; 0 is a call that ended without an answer. `error` and `error_type` are absent where nothing failed, else the kind of
  refusal (`rate_limited`), a status that a fault set (`502`), `client_left`, or `cut` for an answer that a fault ended.
- `gen_ai_provider_name` is `azure.ai.openai` below `/openai`, else `azure.ai.inference`, and the vendor's name for all others.
- `gen_ai_operation_name` is `chat`, `text_completion`, `embeddings`, `rerank` or `images`. Calls that were refused before anybody knew what
  they asked are told in `emulator_requests_total` alone.
- `cache` is `heads` (of requests that the short road knows), `calls` (requests that came before, byte for byte) or `texts` (of prompts, whose
  tokens are known). All are bounded. Words and their tokens are remembered, too, and looked up too often to be counted.
- Completion tokens are those that went out: a client that leaves after the third token has had three.

Times are the scenario's: under `clock: {{scale: 60}}` a minute of a histogram is a second of yours.

## The conventions

The names that begin with `gen_ai_server` are OpenTelemetry's [metrics of model servers](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-metrics.md)
as its exporters write them for Prometheus, and their buckets are that document's. It is in development; `emulator_build_info` names the schema,
`{SCHEMA}`.

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
