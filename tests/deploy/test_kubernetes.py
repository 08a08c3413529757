"""The manifests, as far as they can be proved without a cluster."""

import re
from pathlib import Path

import pytest
import yaml

from emulator.cli import build_parser
from emulator.core.duration import parse_duration
from emulator.scenario.load import load_scenario
from emulator.server.wire.listen import number_ports
from emulator.settings import FRONT_PORT, load_settings
from emulator.vendors import VENDORS
from tests.parsed import JSON

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
DOCUMENTS: dict[tuple[str, str], JSON] = {
    (document["kind"], document["metadata"]["name"]): document
    for name in KUSTOMIZATION["resources"]
    for document in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))
}
RELEASES = ["1.30", "1.37"]  # the first that knows all that is used, and a late one
PODS = {name: document["spec"]["template"] for (kind, name), document in DOCUMENTS.items() if kind == "Deployment"}
EMULATOR = PODS["emulator"]["spec"]["containers"][0]
ENVIRONMENT = {row["name"]: row["value"] for row in EMULATOR["env"]}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", DOCUMENTS, ids="-".join)
def test_manifests_are_true_to_the_schemas_of_kubernetes(name: tuple[str, str], release: str) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    validate.validate(DOCUMENTS[name], release, strict=True)


def test_a_mistake_in_a_manifest_would_be_found() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    wrong = {**DOCUMENTS["Service", "emulator"], "spec": {"port": 1}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, RELEASES[-1], strict=True)


@pytest.mark.parametrize("name", PODS)
def test_no_pod_has_rights_that_it_does_not_need(name: str) -> None:
    spec = PODS[name]["spec"]
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


def test_the_user_is_that_of_the_image() -> None:
    context = PODS["emulator"]["spec"]["securityContext"]
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}" in DOCKERFILE


def test_a_service_sets_no_variable_that_is_a_setting() -> None:
    assert all(pod["spec"]["enableServiceLinks"] is False for pod in PODS.values())


def test_the_command_and_environment_are_known() -> None:
    options = build_parser().parse_args(EMULATOR["args"])
    settings = load_settings(vars(options), ENVIRONMENT)
    assert settings.unknown == ()
    assert (settings.host, settings.port) == ("0.0.0.0", FRONT_PORT)
    assert [str(path) for path in settings.paths] == [EMULATOR["volumeMounts"][0]["mountPath"]]


def test_replicas_share_the_store_that_is_deployed() -> None:
    address = re.fullmatch(r"redis://([a-z-]+):(\d+)", ENVIRONMENT["EMULATOR_STATE_URL"])
    assert address is not None
    service = DOCUMENTS["Service", address[1]]
    assert [port["port"] for port in service["spec"]["ports"]] == [int(address[2])]
    assert PODS["emulator-store"]["spec"]["containers"][0]["image"] == COMPOSE["services"]["store"]["image"]


@pytest.mark.parametrize("name", PODS)
def test_services_find_their_pods(name: str) -> None:
    labels = PODS[name]["metadata"]["labels"]
    assert DOCUMENTS["Service", name]["spec"]["selector"].items() <= labels.items()
    assert DOCUMENTS["Deployment", name]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    ports = {port["name"]: port["containerPort"] for port in PODS[name]["spec"]["containers"][0]["ports"]}
    wanted = {port["targetPort"]: port["port"] for port in DOCUMENTS["Service", name]["spec"]["ports"]}
    assert wanted == ports


def test_every_vendor_has_its_port() -> None:
    ports = {port["name"]: port["containerPort"] for port in EMULATOR["ports"]}
    assert ports == number_ports(VENDORS, FRONT_PORT)


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_ask_what_takes_no_token(probe: str) -> None:
    from emulator.control.routes import find_route

    path = EMULATOR[probe]["httpGet"]["path"]
    route, _ = find_route("GET", path.removeprefix("/_emulator"))
    assert route.is_open


def test_a_pod_is_not_killed_before_its_answers_have_ended() -> None:
    pause = EMULATOR["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = parse_duration(ENVIRONMENT["EMULATOR_DRAIN"])
    assert PODS["emulator"]["spec"]["terminationGracePeriodSeconds"] >= pause + drain + 5


def test_the_scenarios_load() -> None:
    (generator,) = KUSTOMIZATION["configMapGenerator"]
    (volume,) = [volume for volume in PODS["emulator"]["spec"]["volumes"] if "configMap" in volume]
    assert volume["configMap"]["name"] == generator["name"]
    assert [load_scenario([FOLDER / file]).scenario.name for file in generator["files"]] == ["shared quota"]


def test_images_are_pinned() -> None:
    pinned = {image["name"]: image["newTag"] for image in KUSTOMIZATION["images"]}
    for pod in PODS.values():
        name, _, tag = pod["spec"]["containers"][0]["image"].partition(":")
        assert re.match(r"\d+\.\d+", tag or pinned[name])
    assert f"ARG VERSION={pinned['llm-emulator']}\n" in DOCKERFILE
