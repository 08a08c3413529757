"""The page on metrics and the dashboard match the exposed metrics."""

import json
import re
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from emulator import start
from emulator.observability.metrics import FAMILIES
from tests.tools.docs import metrics
from tests.tools.docs.reference import FILE

DASHBOARD = json.loads((FILE.parent / "grafana.json").read_text(encoding="utf-8"))
SUFFIXES = ("_bucket", "_sum", "_count")
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_page_is_current() -> None:
    assert FILE.with_name("metrics.md").read_text(encoding="utf-8") == metrics.render(), "python -m tests.tools.docs"


def test_page_lists_exposed_metrics() -> None:
    reported = dict(re.findall(r"^\| `((?:emulator|gen_ai)_\w+)` \| \w+ \| (.+?) \|", metrics.render(), re.MULTILINE))
    labels = {name: tuple(re.findall(r"`(\w+)`", row)) for name, row in reported.items() if not row[0].isdigit()}
    assert labels == {family.name: family.labels for family in FAMILIES}


def test_documented_scrape_target_serves_metrics() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", metrics.render(), re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(block)["scrape_configs"]
    ((target,),) = (each["targets"] for each in job["static_configs"])
    with start() as client:
        own = urlsplit(client.front).netloc
        with urlopen(f"http://{target.replace('127.0.0.1:4010', own)}{job['metrics_path']}", timeout=20) as answer:
            names = {family.name for family in text_string_to_metric_families(answer.read().decode())}
    assert "emulator_build_info" in names


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_dashboard_queries_exposed_metrics(expression: str) -> None:
    labels = {family.name: {*family.labels, "le"} for family in FAMILIES}
    names = re.findall(r"\b(?:emulator|gen_ai_server)_\w+", expression)
    assert names
    for name in names:
        known = labels.get(name) or next(labels[name.removesuffix(end)] for end in SUFFIXES if name.endswith(end))
        assert set(re.findall(r"[{,](\w+)[!=]", expression)) <= known
        assert {each for some in re.findall(r"by \(([^)]*)\)", expression) for each in some.split(", ")} <= known


def test_dashboard_shows_every_family_except_build_info() -> None:
    text = " ".join(EXPRESSIONS)
    assert [family.name for family in FAMILIES if family.name not in text] == ["emulator_build_info"]


def test_dashboard_is_importable() -> None:
    assert not {"id", "uid"} & DASHBOARD.keys()
    sources = {json.dumps(panel["datasource"]) for panel in DASHBOARD["panels"]}
    assert sources == {json.dumps({"type": "prometheus", "uid": "${datasource}"})}
    assert DASHBOARD["templating"]["list"][0]["type"] == "datasource"
    assert not any("id" in panel for panel in DASHBOARD["panels"])
    places = [tuple(panel["gridPos"].values()) for panel in DASHBOARD["panels"]]
    assert all(x + w <= 24 for x, _, w, _ in places)
