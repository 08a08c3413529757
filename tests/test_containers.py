"""The image and the compose file, as far as they can be proved without an engine."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from emulator.cli import build_parser
from emulator.server.authority import CERTIFICATE, PLACE
from emulator.settings import FRONT_PORT, load_settings
from emulator.vendors import VENDORS

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICE = COMPOSE["services"]["emulator"]
LAST_PORT = FRONT_PORT + len(VENDORS)


def instruction(name: str) -> list[str]:
    """The JSON array of the last ``NAME [...]`` of the Dockerfile."""
    found: list[str] = json.loads(re.findall(rf"{name} (\[.*\])", DOCKERFILE)[-1])
    return found


def test_the_entry_point_is_the_console_script() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert instruction("ENTRYPOINT") == ["emulator"]
    assert scripts["emulator"] == "emulator.cli:main"


def test_the_image_serves_its_scenarios_to_everyone() -> None:
    options = build_parser().parse_args(instruction(r"\nCMD"))
    settings = load_settings(vars(options), {})
    assert (settings.host, settings.port, settings.paths) == ("0.0.0.0", FRONT_PORT, (Path("/scenarios"),))
    assert (ROOT / "scenarios" / "default.yaml").is_file()


@pytest.mark.parametrize("command", [instruction("-retries=3 CMD"), SERVICE["healthcheck"]["test"][1:]])
def test_the_health_command_is_one_of_ours(command: list[str]) -> None:
    assert command[0] == "emulator"
    assert build_parser().parse_args(command[1:]).verb == "health"


def test_every_port_is_open() -> None:
    assert f"EXPOSE {FRONT_PORT}-{LAST_PORT}" in DOCKERFILE
    assert SERVICE["ports"] == [f"127.0.0.1:{FRONT_PORT}-{LAST_PORT}:{FRONT_PORT}-{LAST_PORT}"]


def test_the_environment_of_the_service_is_known() -> None:
    assert load_settings({}, SERVICE["environment"]).unknown == ()


def test_the_authority_outlives_the_container() -> None:
    given = dict(re.findall(r"^ENV (\w+)=(.*)$", DOCKERFILE, re.MULTILINE))
    folder = load_settings({}, given).tls_dir
    assert f"install -d -o emulator {folder}\n" in DOCKERFILE
    assert f"authority:{folder}" in SERVICE["volumes"]
    assert "authority" in COMPOSE["volumes"]


def test_the_documented_service_with_tls_fits_the_image() -> None:
    text = (ROOT / "docs" / "tls.md").read_text(encoding="utf-8")
    documented = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    services = documented["services"]
    settings = load_settings({}, services["emulator"]["environment"])
    assert (settings.tls, settings.tls_name, settings.unknown) == (True, ("emulator",), ())
    assert services["emulator"]["volumes"] == ["authority:/tls"]
    assert services["app"]["environment"]["SSL_CERT_FILE"] == f"/tls/{PLACE}/{CERTIFICATE}"
    assert list(documented["volumes"]) == ["authority"]


def test_nothing_runs_as_root_or_writes_to_the_image() -> None:
    assert "\nUSER emulator\n" in DOCKERFILE
    assert SERVICE["read_only"] is True


@pytest.mark.parametrize("file", re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE))
def test_what_is_copied_is_there(file: str) -> None:
    assert all((ROOT / name).exists() for name in file.split())
