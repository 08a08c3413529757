"""The image and the compose file, as far as they can be proved without an engine."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from emulator import __version__
from emulator.cli import build_parser
from emulator.cli.probe import PORT_FILE_VARIABLE
from emulator.core.units import parse_duration
from emulator.http.certificates import CERTIFICATE, PRIVATE_FOLDER, PUBLIC_FOLDER
from emulator.settings import FRONT_PORT, load_settings
from emulator.vendors import VENDORS

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICE = COMPOSE["services"]["emulator"]
IMAGES = dict(re.findall(r"^(\w+)=(.+)$", (ROOT / "deploy" / "images.env").read_text(encoding="utf-8"), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = dict(re.findall(r"\b(EMULATOR_\w+)=([^\s\\]+)", DOCKERFILE))
USER = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1]
LAST_PORT = FRONT_PORT + len(VENDORS)


def instruction(name: str) -> list[str]:
    """The JSON array of the last ``NAME [...]`` of the Dockerfile."""
    found: list[str] = json.loads(re.findall(rf"{name} (\[.*\])", DOCKERFILE)[-1])
    return found


@pytest.mark.covers("promises/first steps", "both names of the command")
def test_entrypoint_is_console_script() -> None:
    assert instruction("ENTRYPOINT") == ["emulator"]
    assert PROJECT["scripts"] == {"emulator": "emulator.cli:main", "llm-emulator": "emulator.cli:main"}
    assert PROJECT["name"] == "llm-emulator"  # the other is taken, on the index and by another's command


def test_image_serves_scenarios_on_all_interfaces() -> None:
    options = build_parser().parse_args(instruction(r"\nCMD"))
    settings = load_settings(vars(options), ENVIRONMENT)
    assert (settings.host, settings.port, settings.paths) == ("0.0.0.0", FRONT_PORT, (Path("/scenarios"),))
    other = build_parser().parse_args(["serve", "--scenario", "throttled-tenant"])
    assert load_settings(vars(other), ENVIRONMENT).host == "0.0.0.0"  # another command is reached, too
    assert (ROOT / "scenarios" / "default.yaml").is_file()


def test_image_healthcheck_uses_health_command() -> None:
    assert instruction("-retries=3 CMD") == ["emulator", "health"]
    assert PORT_FILE_VARIABLE in ENVIRONMENT
    assert "healthcheck" not in SERVICE  # it is the image's
    times = dict(re.findall(r"--([a-z-]+)=(\d+)s", re.findall(r"HEALTHCHECK (.+)", DOCKERFILE)[0]))
    assert int(times["interval"]) >= 10
    assert int(times["start-period"]) >= load_settings({}, {}).state_wait


def test_every_port_is_exposed() -> None:
    assert f"EXPOSE {FRONT_PORT}-{LAST_PORT}" in DOCKERFILE
    assert SERVICE["ports"] == [f"127.0.0.1:{FRONT_PORT}-{LAST_PORT}:{FRONT_PORT}-{LAST_PORT}"]


def test_service_environment_has_no_unknown_setting() -> None:
    assert load_settings({}, SERVICE["environment"]).unknown == ()


def test_tls_authority_is_on_volumes() -> None:
    folder = load_settings({}, ENVIRONMENT).tls_dir
    user = USER.partition(":")[0]
    assert f"install -d -o {user} -g {user} {folder} {folder}/{PUBLIC_FOLDER} " in DOCKERFILE
    assert f"install -d -o {user} -g {user} -m 0700 {folder}/{PRIVATE_FOLDER}\n" in DOCKERFILE
    for name, place in (("authority", PUBLIC_FOLDER), ("private", PRIVATE_FOLDER)):
        assert f"{name}:{folder}/{place}" in SERVICE["volumes"]
        assert name in COMPOSE["volumes"]


def test_documented_services_name_image() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        for name in re.findall(r"image: (\S*emulator\S*)", page.read_text(encoding="utf-8")):
            assert re.fullmatch(r"(ghcr\.io/llm-emulator/)?llm-emulator(:[\w.]+)?", name), page.name


def test_documented_tls_service_matches_image() -> None:
    text = (ROOT / "docs" / "tls.md").read_text(encoding="utf-8")
    documented = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    services = documented["services"]
    settings = load_settings({}, services["emulator"]["environment"])
    assert (settings.tls, settings.tls_name, settings.unknown) == (True, ("emulator",), ())
    assert services["emulator"]["volumes"] == [f"authority:/tls/{PUBLIC_FOLDER}", f"private:/tls/{PRIVATE_FOLDER}"]
    assert services["app"]["volumes"] == ["authority:/authority:ro"]
    assert services["app"]["environment"]["SSL_CERT_FILE"] == f"/authority/{CERTIFICATE}"
    assert list(documented["volumes"]) == ["authority", "private"]


def test_no_application_mounts_authority_key() -> None:
    """In every service of the documentation, and of the repository, that is no emulator."""
    texts = [(ROOT / "docker-compose.yml").read_text(encoding="utf-8")]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += re.findall(r"```ya?ml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    seen = 0
    for text in texts:
        documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)] if "services:" in text else []
        for services in (each["services"] for each in documents if isinstance(each.get("services"), dict)):
            for service in services.values():
                volumes = [str(volume) for volume in service.get("volumes", ())]
                if "emulator" not in str(service.get("image")):
                    assert not [
                        each for each in volumes if each.startswith("private:") or each.startswith("authority:/tls:")
                    ]
                seen += any(each.startswith("authority:") for each in volumes)
    assert seen >= 2


def test_no_page_uses_insecure_curl() -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert not re.search(r"curl [^\n`]*(-k\b|--insecure)", page.read_text(encoding="utf-8")), page.name


def test_container_runs_as_non_root_on_read_only_image() -> None:
    user, group = USER.split(":")
    assert user.isdecimal()
    assert int(user) > 0
    assert f" echo emulator:x:{group}: >> /etc/group " in DOCKERFILE
    assert f" echo emulator:x:{user}:{group}::/home/emulator:/bin/false >> /etc/passwd " in DOCKERFILE
    assert SERVICE["read_only"] is True


def test_service_drops_capabilities_and_bounds_resources() -> None:
    assert SERVICE["cap_drop"] == ["ALL"]
    assert "cap_add" not in SERVICE
    assert "privileged" not in SERVICE
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch(r"\d+[mg]", SERVICE["mem_limit"])
    assert SERVICE["pids_limit"] > 0


def test_stop_grace_period_covers_drain() -> None:
    drain = load_settings({}, SERVICE["environment"]).drain
    assert drain == load_settings({}, {}).drain
    assert parse_duration(SERVICE["stop_grace_period"]) >= drain + 2


def test_healthcheck_reads_port_from_port_file() -> None:
    file = load_settings({}, ENVIRONMENT).port_file
    assert file is not None
    assert file.parent == Path("/dev/shm")  # can be written to even where the root cannot
    options = build_parser().parse_args(instruction("-retries=3 CMD")[1:])
    assert (options.url, options.port, options.port_file) == (None, None, None)


def test_base_image_is_pinned_by_release_and_digest() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON}"] * 2
    assert re.search(r"^ARG PYTHON=python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert f"\nARG PYTHON=python:{IMAGES['PYTHON_TAG']}\n" in DOCKERFILE
    assert re.fullmatch(r"3\.\d+\.\d+-alpine3\.\d+@sha256:[0-9a-f]{64}", IMAGES["ALPINE_TAG"])
    assert IMAGES["ALPINE_TAG"].partition("-")[0] == IMAGES["PYTHON_TAG"].partition("-")[0]


@pytest.mark.parametrize("name", ["PYTHON", "VALKEY", "HAPROXY"])
def test_compose_uses_pinned_image_tags(name: str) -> None:
    tag, _, digest = IMAGES[f"{name}_TAG"].partition("@")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    services = COMPOSE["services"]
    images = [services["store"]["image"], services["balancer"]["image"], SERVICE["build"]["args"]["PYTHON"]]
    assert sum(image.endswith(f":${{{name}_TAG:-{tag}}}") for image in images) == 1


def test_final_image_cannot_install_packages() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "pip uninstall --yes --quiet --root-user-action ignore pip " in final
    assert "pip install" not in final
    assert "deploy/prune.py /install" in DOCKERFILE


def test_installs_require_hashes() -> None:
    installs = re.findall(r"pip install [^&\n]+", DOCKERFILE)
    assert [
        ("--require-hashes" in line or line.rstrip(" \\").endswith("--prefix /install .")) for line in installs
    ] == [True] * 3
    assert all("--no-deps" in line for line in installs)
    assert "--no-build-isolation" in installs[-1]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock"])
def test_lock_file_pins_release_and_hashes(name: str) -> None:
    blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text(encoding="utf-8").strip())
    locked = [block for block in blocks if not block.startswith("#")]
    assert len(locked) > 3
    for block in locked:
        assert re.match(r"[a-z0-9-]+==[0-9.]+ (; .+ )?\\\n", block), block[:80]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block)


def test_lock_file_satisfies_package_requirements() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([a-z0-9-]+)==([0-9.]+)", text, re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    for requirement in [*PROJECT["dependencies"], *extras["redis"], *extras["tls"], *extras["speed"]]:
        name, bounds = re.match(r"([A-Za-z0-9-]+)([^;]*)", requirement).groups()  # type: ignore[union-attr]  # all do
        assert in_bounds(locked[name.lower()], bounds), requirement


def in_bounds(release: str, bounds: str) -> bool:
    """``3.14.5`` is in ``>=3.14.4,<3.15``."""
    here = [int(part) for part in release.split(".")]
    for bound in bounds.strip().split(","):
        sign, number = re.match(r"(>=|<)([0-9.]+)", bound).groups()  # type: ignore[union-attr]  # no others are used
        there = [int(part) for part in number.split(".")]
        if (here < there) if sign == ">=" else (here >= there):
            return False
    return True


@pytest.mark.parametrize(
    ("release", "bounds", "fits"),
    [("3.14.5", ">=3.14.4,<3.15", True), ("3.15.0", ">=3.14.4,<3.15", False), ("3.9", ">=3.14", False)],
)
def test_bounds_are_compared_as_numbers(release: str, bounds: str, fits: bool) -> None:
    assert in_bounds(release, bounds) is fits


def test_aiohttp_is_bounded_by_its_next_major_release() -> None:
    (aiohttp,) = [line for line in PROJECT["dependencies"] if line.startswith("aiohttp")]
    assert re.fullmatch(r"aiohttp>=3\.\d+,<4", aiohttp)


def test_lowest_releases_are_tested() -> None:
    script = (ROOT / ".ci" / "lowest.py").read_text(encoding="utf-8")
    names: dict[str, object] = {"__file__": str(ROOT / ".ci" / "lowest.py")}
    exec(compile(script, "lowest.py", "exec"), names)
    lowest = names["list_lowest"]()  # type: ignore[operator]  # it is a function
    assert "aiohttp==3.11" in lowest
    assert all(re.fullmatch(r"[A-Za-z0-9-]+==[0-9.]+(; .+)?", line) for line in lowest)
    assert {"redis==6", "opentelemetry-sdk==1.27"} <= set(lowest)
    extras = PROJECT["optional-dependencies"]
    kept = [name for name in extras if name not in ("test", "browser", "conformance")]  # these are for us
    assert len(lowest) == len(PROJECT["dependencies"]) + sum(len(extras[name]) for name in kept)
    assert re.search(r"^step .+ \.ci/lowest ", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_image_labels_name_release_and_source() -> None:
    assert f"\nARG VERSION={__version__}\n" in DOCKERFILE
    home = "https://github.com/llm-emulator/llm-emulator"
    for label in ("url", "source"):
        assert f'org.opencontainers.image.{label}="{home}"' in DOCKERFILE


@pytest.mark.parametrize(
    "label", ["title", "description", "documentation", "source", "licenses", "version", "revision"]
)
def test_image_has_label(label: str) -> None:
    assert f'org.opencontainers.image.{label}="' in DOCKERFILE


def test_build_context_holds_only_copied_files() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    }
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied
    assert {"**/*.key", "**/*.pem", "**/.env", "**/__pycache__"} <= set(rules)


@pytest.mark.parametrize("file", re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE))
def test_copied_files_exist(file: str) -> None:
    assert all((ROOT / name).exists() for name in file.split())
