"""The compose file's replicas and their balancer, as far as they can be proved without an engine."""

import re
import shlex
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from emulator.cli import build_parser
from emulator.settings import FRONT_PORT, load_settings
from tests.test_containers import COMPOSE, IMAGES, LAST_PORT, ROOT, SERVICE
from tests.tools.docs.blocks import find_blocks

BALANCER = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")


def test_replicas_share_store_and_balancer() -> None:
    services = COMPOSE["services"]
    replica, balancer = services["replica"], services["balancer"]
    settings = load_settings({}, replica["environment"])
    assert settings.unknown == ()
    assert urlsplit(settings.state_url).hostname in services
    assert balancer["ports"] == [f"127.0.0.1:4110-{LAST_PORT + 100}:{FRONT_PORT}-{LAST_PORT}"]
    assert COMPOSE["configs"]["balancer"] == {
        "file": "./deploy/haproxy.cfg"
    }  # its text cannot be put on a root read-only
    assert f"bind :{FRONT_PORT}-{LAST_PORT}\n" in BALANCER
    (most,) = re.findall(r"server-template replica (\d+) replica$", BALANCER, re.MULTILINE)
    assert int(most) >= 5 * replica["deploy"]["replicas"]


def test_balancer_retries_on_another_replica() -> None:
    assert re.search(r"^  option redispatch 1\b", BALANCER, re.MULTILINE)
    (tries,) = re.findall(r"^  retries (\d+)", BALANCER, re.MULTILINE)
    assert int(tries) >= COMPOSE["services"]["replica"]["deploy"]["replicas"]


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_haproxy_accepts_config() -> None:
    command = ["haproxy", "-c", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr


def test_profiles_start_their_services_and_share_one_image() -> None:
    services = COMPOSE["services"]
    profiles = {name: service["profiles"] for name, service in services.items()}
    assert profiles == {
        "emulator": ["one"],
        "replica": ["replicas"],
        "store": ["replicas"],
        "balancer": ["replicas"],
    }
    assert (ROOT / ".env").read_text(encoding="utf-8").splitlines()[-1] == "COMPOSE_PROFILES=one"
    assert IMAGES["COMPOSE_PROFILES"] == "one"  # as another file of variables takes the place of the first
    assert services["replica"]["build"] == SERVICE["build"]
    assert services["replica"]["image"] == SERVICE["image"] == "llm-emulator"


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_every_service_has_healthcheck_and_restarts_on_failure(name: str) -> None:
    service = COMPOSE["services"][name]
    assert re.fullmatch(r"on-failure:\d+", service["restart"])
    assert "healthcheck" in service or service["image"] == "llm-emulator"
    assert service.get("healthcheck", {}).get("start_interval", "200ms") == "200ms"


@pytest.mark.parametrize("name", ["replica", "store", "balancer"])
def test_every_service_is_hardened(name: str) -> None:
    service = COMPOSE["services"][name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "mem_limit" in service


def test_documented_commands_fit_image() -> None:
    (block,) = [block for block in find_blocks() if (block.page, block.language) == ("image.md", "console")]
    commands = [shlex.split(line.removeprefix("$ ")) for line in block.text.splitlines()]
    assert len(commands) == 3
    for command in commands:
        at = command.index("llm-emulator")
        assert command[:3] == ["docker", "run", "--rm"]
        assert command[command.index("-p") + 1] == SERVICE["ports"][0]
        build_parser().parse_args(command[at + 1 :])
        folders = [command[number + 1] for number, word in enumerate(command) if word == "-v"]
        assert all(folder.endswith(":/scenarios:ro") for folder in folders)
