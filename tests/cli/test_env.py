"""``emulator env``: what shells and files of variables read."""

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.choices import VENDOR_NAMES

TRUST = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"}
Env = Callable[..., str]


@pytest.fixture
def env(capsys: pytest.CaptureFixture[str]) -> Env:
    """Return what the command prints for its arguments."""

    def run(*arguments: str) -> str:
        assert main(["env", *arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.covers("language/commands", "env")
@pytest.mark.parametrize(
    ("vendor", "lines"),
    [
        pytest.param(
            "databricks",
            ["export DATABRICKS_HOST=http://127.0.0.1:4011", "export DATABRICKS_TOKEN="],
            id="Databricks",
        ),
        pytest.param(
            "azure",
            [
                "export AZURE_OPENAI_ENDPOINT=http://127.0.0.1:4012",
                "export AZURE_OPENAI_API_KEY=emulator",
                "export OPENAI_API_VERSION=2024-10-21",
                "export AZURE_AI_CHAT_KEY=emulator",
            ],
            id="Azure",
        ),
    ],
)
def test_env_prints_export_lines(vendor: str, lines: list[str], env: Env) -> None:
    printed = env(vendor).splitlines()
    assert all(any(found.startswith(line) for found in printed) for line in lines)
    assert all(line.startswith("export ") for line in printed)


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_env_uses_port_of_each_vendor(vendor: str, env: Env, tmp_path: Path) -> None:
    printed = env(vendor, "--port", "5000", "--tls", "--tls-dir", str(tmp_path))
    assert f"https://127.0.0.1:{5001 + VENDOR_NAMES.index(vendor)}" in printed


@pytest.mark.parametrize(("host", "visible"), [("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("box", "box")])
def test_host_is_one_that_clients_connect_to(host: str, visible: str, env: Env) -> None:
    assert (
        json.loads(env("tgi", "--host", host, "--format", "json"))["HF_INFERENCE_ENDPOINT"] == f"http://{visible}:4014"
    )


@pytest.mark.parametrize("folder", ["plain", "it's here", "a b", "$HOME # x"])
def test_formats_hold_the_same_variables(folder: str, env: Env, tmp_path: Path) -> None:
    """The path of the certificate is what needs quotes."""
    arguments = ["azure", "--tls", "--tls-dir", str(tmp_path / folder), "--format"]
    expected = json.loads(env(*arguments, "json"))
    certificate = {expected[name] for name in TRUST}
    assert certificate == {str(tmp_path / folder / "authority" / "ca.pem")}
    assert Path(certificate.pop()).read_text().startswith("-----BEGIN CERTIFICATE-----")
    dotenv = pytest.importorskip("dotenv")
    read = {
        "sh": _source(env(*arguments, "sh")),
        "dotenv": dotenv.dotenv_values(stream=io.StringIO(env(*arguments, "dotenv")), interpolate=False),
        "github": dict(line.split("=", 1) for line in env(*arguments, "github").splitlines()),
        "powershell": dict(map(_read_powershell, env(*arguments, "powershell").splitlines())),
        "cmd": dict(map(_read_cmd, env(*arguments, "cmd").splitlines())),
    }
    assert read == dict.fromkeys(read, expected)


def _source(text: str) -> dict[str, str]:
    script = f"{text}\nenv -0"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=60, check=True, env={})
    found = dict(row.split("=", 1) for row in done.stdout.split("\0") if row)
    return {name: value for name, value in found.items() if name not in ("PWD", "SHLVL", "_", "OLDPWD")}


def _read_powershell(line: str) -> tuple[str, str]:
    """Read one assignment of a single-quoted text. Source: about_Quoting_Rules."""
    name, _, value = line.removeprefix("$env:").partition(" = ")
    assert value[0] == value[-1] == "'"
    inside = value[1:-1]
    assert "'" not in inside.replace("''", "")
    return name, inside.replace("''", "'")


def _read_cmd(line: str) -> tuple[str, str]:
    """Read one assignment of a batch file, which ends at the last quote. Source: Microsoft, "set"."""
    name, _, value = line.removeprefix('@set "').partition("=")
    assert value[-1] == '"'
    assert "%" not in value.replace("%%", "")
    return name, value[:-1].replace("%%", "%")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["a b", "$HOME # x"])
def test_node_reads_dotenv(folder: str, env: Env, tmp_path: Path) -> None:
    arguments = ["azure", "--tls", "--tls-dir", str(tmp_path / folder), "--format"]
    expected = json.loads(env(*arguments, "json"))
    file = tmp_path / ".env"
    file.write_text(env(*arguments, "dotenv"))
    script = "console.log(JSON.stringify(process.env))"
    command = [shutil.which("node") or "", f"--env-file={file}", "-e", script]
    found = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True, env={}).stdout)
    assert found == expected


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        pytest.param(["--port-file", "{file}"], "https://127.0.0.1:60002", id="the file"),
        pytest.param(["--port-file", "{file}", "--port", "0"], "https://127.0.0.1:60002", id="free ports"),
        pytest.param(["--port-file", "{file}", "--port", "5000"], "http://127.0.0.1:5002", id="a port wins"),
    ],
)
def test_env_reads_port_file(arguments: list[str], url: str, env: Env, tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    file.write_text(json.dumps({"front": "https://127.0.0.1:60000", "azure": "https://127.0.0.1:60002"}))
    given = [argument.format(file=file) for argument in arguments]
    found = json.loads(env("azure", "--format", "json", "--tls-dir", str(tmp_path / "tls"), *given))
    assert found["AZURE_OPENAI_ENDPOINT"] == url
    assert (found.keys() >= TRUST) == url.startswith("https:")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["azure", "--port", "0"], "pass the --port-file that serve writes", id="free ports, no file"),
        pytest.param(["azure", "--port-file", "none.json"], "no emulator has written none.json", id="no file"),
        pytest.param(["tgi", "--port-file", "{file}"], "'tgi' is not served by the emulator of", id="not served"),
    ],
)
def test_unknown_port_prints_one_line_and_exits_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ports.json"
    file.write_text(json.dumps({"front": "http://127.0.0.1:60000"}))
    assert main(["env", *[argument.format(file=file) for argument in arguments]]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert message in printed.err
