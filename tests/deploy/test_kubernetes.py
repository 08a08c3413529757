"""The manifests as kustomize builds them, as far as they can be proved without a cluster."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from multidict import CIMultiDict

from emulator import __version__
from emulator.cli import build_parser
from emulator.control.auth import ControlAuth
from emulator.core.errors import ProblemError
from emulator.core.units import parse_duration
from emulator.http.listeners import number_ports
from emulator.scenario.load import load_text
from emulator.settings import FRONT_PORT, Settings, load_settings
from emulator.vendors import VENDORS
from tests.deploy.kustomized import BASE, FOLDER, REPLICAS, Built, build
from tests.tools.docs.blocks import find_blocks

pytestmark = pytest.mark.slow

ROOT = FOLDER.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
RELEASES = ["1.30", "1.37"]  # the first release that has all used fields, and a late one
PROBES = ["startupProbe", "readinessProbe", "livenessProbe"]
SECRETS = {"control-token": "t0ken", "store-password": "s3cret"}


def find_shown(language: str) -> list[str]:
    """Blocks of the page about clusters."""
    return [block.text for block in find_blocks() if (block.page, block.language) == ("kubernetes.md", language)]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The overlay of the page, which adds TLS to the replicas."""
    folder = tmp_path_factory.mktemp("kubernetes") / "kubernetes"
    shutil.copytree(FOLDER, folder)
    overlay = folder / "overlays" / "mine"
    overlay.mkdir()
    (text,) = find_shown("yaml")
    (overlay / "kustomization.yaml").write_text(text)
    return overlay


@pytest.fixture(params=["base", "replicas", "replicas with TLS"])
def built(request: pytest.FixtureRequest) -> Built:
    """Each overlay in turn."""
    if request.param == "replicas with TLS":
        overlay: Path = request.getfixturevalue("secured")
        return build(overlay)
    return build(BASE if request.param == "base" else REPLICAS)


def find_pods(built: Built) -> dict[str, Any]:
    """What each deployment makes pods of."""
    return {name: row["spec"]["template"] for (kind, name), row in built.items() if kind == "Deployment"}


def find_container(built: Built, name: str = "emulator") -> Any:
    (container,) = find_pods(built)[name]["spec"]["containers"]
    return container


def expand(container: Any) -> dict[str, str]:
    """The variables of a container as it sees them, in the namespace ``default``."""
    known: dict[str, str] = {}
    for row in container["env"]:
        known[row["name"]] = re.sub(r"\$\((\w+)\)", lambda found: known[found[1]], _read(row))
    return known


def _read(row: Any) -> str:
    match row:
        case {"value": str(value)}:
            return value
        case {"valueFrom": {"secretKeyRef": {"name": "emulator", "key": key}}}:
            return SECRETS[key]
        case {"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}:
            return "default"
    raise AssertionError(row)


def read_settings(built: Built) -> Settings:
    container = find_container(built)
    image = dict(re.findall(r"\b(EMULATOR_\w+)=([^\s\\]+)", DOCKERFILE))
    return load_settings(vars(build_parser().parse_args(container["args"])), image | expand(container))


def find_selectors(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every choice of pods by their labels."""
    if isinstance(value, list):
        for each in value:
            yield from find_selectors(each, at)
    elif isinstance(value, dict):
        if "matchLabels" in value:
            yield at, value["matchLabels"]
        for key, each in value.items():
            yield from find_selectors(each, f"{at}.{key}")


@pytest.mark.parametrize("release", RELEASES)
def test_manifests_match_kubernetes_schemas(built: Built, release: str) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for document in built.values():
        validate.validate(document, release, strict=True)


def test_invalid_manifest_fails_validation() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    wrong = {**build(BASE)["Service", "emulator"], "spec": {"port": 1}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, RELEASES[-1], strict=True)


def test_base_uses_memory_and_replicas_share_store() -> None:
    one, three = build(BASE), build(REPLICAS)
    assert (one["Deployment", "emulator"]["spec"]["replicas"], read_settings(one).state_url) == (1, "memory://")
    assert three["Deployment", "emulator"]["spec"]["replicas"] == 3
    assert read_settings(three).state_url == "redis://:s3cret@emulator-store:6379"
    assert [port["port"] for port in three["Service", "emulator-store"]["spec"]["ports"]] == [6379]
    assert not [name for kind, name in one if name.endswith("-store")]
    assert three["PodDisruptionBudget", "emulator"]["spec"]["maxUnavailable"] == 1


def test_pods_run_with_least_privilege(built: Built) -> None:
    for pod in find_pods(built).values():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


def test_pod_user_matches_image(built: Built) -> None:
    context = find_pods(built)["emulator"]["spec"]["securityContext"]
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}" in DOCKERFILE


def test_service_links_are_disabled(built: Built) -> None:
    assert all(pod["spec"]["enableServiceLinks"] is False for pod in find_pods(built).values())


def test_arguments_and_environment_are_valid_settings(built: Built) -> None:
    settings = read_settings(built)
    assert settings.unknown == ()
    assert (settings.host, settings.port) == ("0.0.0.0", FRONT_PORT)
    mounts = {mount["mountPath"] for mount in find_container(built)["volumeMounts"]}
    assert [str(path) for path in settings.paths] == ["/scenarios"]
    assert {"/scenarios", str(settings.tls_dir), "/tmp"} == mounts


def test_credentials_come_from_secret(built: Built) -> None:
    assert read_settings(built).control_token == "t0ken"
    for pod in find_pods(built).values():
        words = yaml.safe_dump(pod["spec"]["containers"])
        assert not re.search(r"(?i)(password|token)\S*\n?\s*value: [^$\s]*$", words)


@pytest.mark.parametrize(
    "host", ["emulator", "emulator.default", "emulator.default.svc", "emulator.default.svc.cluster.local"]
)
def test_service_hostnames_are_allowed_hosts(built: Built, host: str) -> None:
    guard = ControlAuth(read_settings(built).allow_host, hostname="emulator-5d4f-x")
    guard.check_browser(CIMultiDict({"Host": f"{host}:4010"}), local="10.1.2.3")
    with pytest.raises(ProblemError):
        guard.check_browser(CIMultiDict({"Host": "emulator.other.test:4010"}), local="10.1.2.3")


def test_tls_names_include_service(secured: Path) -> None:
    settings = read_settings(build(secured))
    assert settings.tls
    assert settings.tls_name == ("emulator", "emulator.default", "emulator.default.svc")
    container = find_container(build(secured))
    assert [container[probe]["httpGet"]["scheme"] for probe in PROBES] == ["HTTPS"] * 3


def test_selectors_match_exactly_one_deployment(built: Built) -> None:
    labels = [pod["metadata"]["labels"] for pod in find_pods(built).values()]
    found = [pair for document in built.values() for pair in find_selectors(document)]
    found += [("service", row["spec"]["selector"]) for (kind, _), row in built.items() if kind == "Service"]
    assert len(found) >= 2 * len(labels)
    for at, selector in found:
        assert selector.keys() == {"app.kubernetes.io/name", "app.kubernetes.io/component"}, at
        assert sum(selector.items() <= each.items() for each in labels) == 1, at


def test_service_ports_match_container_ports(built: Built) -> None:
    for name, pod in find_pods(built).items():
        (container,) = pod["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        wanted = {port["targetPort"]: port["port"] for port in built["Service", name]["spec"]["ports"]}
        assert wanted == ports
    assert {port["name"]: port["containerPort"] for port in find_container(built)["ports"]} == number_ports(
        VENDORS, FRONT_PORT
    )


def test_network_policies_allow_only_needed_ports(built: Built) -> None:
    policies = {name: row["spec"] for (kind, name), row in built.items() if kind == "NetworkPolicy"}
    (rule,) = policies["emulator"]["ingress"]
    assert rule["ports"] == [{"port": FRONT_PORT, "endPort": FRONT_PORT + len(VENDORS)}]
    assert "egress" not in policies["emulator"]  # and as it is among the types, nothing is reached
    assert policies["emulator"]["policyTypes"] == ["Ingress", "Egress"]
    if "emulator-store" in policies:
        (rule,) = policies["emulator-store"]["ingress"]
        (source,) = rule["from"]
        labels = find_pods(built)["emulator"]["metadata"]["labels"]
        assert source["podSelector"]["matchLabels"].items() <= labels.items()
        open_ports = {port["port"] for rule in policies["emulator-to-store"]["egress"] for port in rule["ports"]}
        assert open_ports == {6379, 53}


@pytest.mark.parametrize("probe", PROBES)
def test_probes_use_open_routes(built: Built, probe: str) -> None:
    from emulator.control.routes import find_route

    path = find_container(built)[probe]["httpGet"]["path"]
    route, _ = find_route("GET", path.removeprefix("/_emulator"))
    assert route.is_open


def test_probes_tolerate_busy_server(built: Built) -> None:
    container = find_container(built)
    assert all(container[probe]["timeoutSeconds"] >= 5 for probe in PROBES)
    alive = container["livenessProbe"]
    assert alive["periodSeconds"] * alive["failureThreshold"] >= 60
    begins = container["startupProbe"]
    assert begins["periodSeconds"] * begins["failureThreshold"] >= read_settings(built).state_wait + 20


def test_grace_period_covers_drain(built: Built) -> None:
    pause = find_container(built)["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = parse_duration(expand(find_container(built))["EMULATOR_DRAIN"])
    assert find_pods(built)["emulator"]["spec"]["terminationGracePeriodSeconds"] >= pause + drain + 5


@pytest.mark.parametrize(("overlay", "name"), [(BASE, "answers"), (REPLICAS, "shared quota")], ids=["base", "replicas"])
def test_config_map_scenarios_load(overlay: Path, name: str) -> None:
    (volume,) = [row for row in find_pods(build(overlay))["emulator"]["spec"]["volumes"] if "configMap" in row]
    data = build(overlay)["ConfigMap", volume["configMap"]["name"]]["data"]
    assert [load_text(text, file).scenario.name for file, text in data.items()] == [name]


def test_images_are_pinned(built: Built) -> None:
    assert find_container(built)["image"] == f"ghcr.io/llm-emulator/llm-emulator:{__version__}"
    if ("Deployment", "emulator-store") in built:
        tag = dict(re.findall(r"^(\w+)_TAG=(.+)$", (ROOT / "deploy" / "images.env").read_text(), re.MULTILINE))
        assert find_container(built, "emulator-store")["image"] == f"valkey/valkey:{tag['VALKEY']}"


def test_page_commands_match_manifests() -> None:
    (text,) = find_shown("console")
    folders = [ROOT / path for path in re.findall(r"kubectl apply -k (\S+)", text)]
    assert folders == [BASE, REPLICAS]
    assert "kubectl create secret generic emulator " in text
    assert re.findall(r"--from-literal=([a-z-]+)=", text) == list(SECRETS)
