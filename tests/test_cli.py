"""The command line as a user types it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator import __version__
from emulator.cli import VENDOR_NAMES, main
from emulator.vendors import VENDORS


def test_the_names_offered_are_the_vendors() -> None:
    assert tuple(vendor.name for vendor in VENDORS) == VENDOR_NAMES


def test_without_a_verb_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "serve" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"emulator {__version__}\n")


def test_help_shows_flag_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    text = capsys.readouterr().out
    assert "--log-level" in text
    assert "[EMULATOR_LOG_LEVEL] (default info)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["serve", "--port", "x"], "--port takes a whole number", id="a port that is text"),
        pytest.param(["serve", "--ttft", "100"], "'100' is not a duration", id="a duration without a unit"),
        pytest.param(["serve", "no-such-file.yaml"], "no-such-file.yaml", id="a file that is not there"),
        pytest.param(["serve", "--state-url", "tape://reel"], "there are memory://", id="a store there is not"),
        pytest.param(
            ["serve", "--tls", "--tls-cert", "no.pem", "--tls-key", "no.key"], "TLS certificate", id="no certificate"
        ),
    ],
)
def test_wrong_usage_is_one_clear_line_and_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["serve", "--no-such-flag"], id="an unknown flag"),
        pytest.param(["serve", "--log-level", "loud"], id="a choice that is none"),
        pytest.param(["env", "nobody"], id="an unknown vendor"),
        pytest.param(["no-such-verb"], id="an unknown verb"),
    ],
)
def test_a_bad_flag_is_one_clear_line_and_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("vendor", "lines"),
    [
        pytest.param(
            "databricks",
            ["export DATABRICKS_HOST=http://127.0.0.1:4011", "export DATABRICKS_TOKEN="],
            id="Databricks",
        ),
    ],
)
def test_env_prints_what_to_export(vendor: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor]) == 0
    printed = capsys.readouterr().out
    assert all(line in printed for line in lines)
    assert all(line.startswith("export ") for line in printed.splitlines())


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_env_points_every_vendor_at_its_own_port(vendor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor, "--port", "5000", "--tls"]) == 0
    assert f"https://127.0.0.1:{5001 + VENDOR_NAMES.index(vendor)}" in capsys.readouterr().out


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """``emulator serve`` in a process of its own, and its base URLs."""
    ports = folder / "ports.json"
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--port-file", str(ports), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not ports.exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process, json.loads(ports.read_text())
    finally:
        process.kill()
        process.communicate()


def test_serve_answers_and_ends_with_0(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, urls):
        assert list(urls) == ["front", *VENDOR_NAMES]
        with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
            health = json.load(answer)
        assert (health["status"], health["version"]) == ("ok", __version__)
        assert main(["health", "--url", urls["front"]]) == 0
        process.send_signal(signal.SIGTERM)
        _, banner = process.communicate(timeout=20)
        assert process.returncode == 0
        assert all(urls[name] in banner for name in VENDOR_NAMES)


def test_a_stream_that_is_open_at_sigterm_ends_whole(tmp_path: Path) -> None:
    with serving(tmp_path, "--ttft", "200ms", "--itl", "10ms") as (process, urls):
        body = {"model": "llama3", "stream": True, "max_tokens": 30, "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:  # returns with the head, before the first token
            process.send_signal(signal.SIGTERM)
            assert answer.read().endswith(b"data: [DONE]\n\n")
        assert process.wait(timeout=20) == 0


def test_a_port_in_use_is_one_clear_line_and_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "emulator", "serve", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f"127.0.0.1:{port}" in ended.stderr


def test_tls_is_trusted_by_the_line_the_banner_prints(tmp_path: Path) -> None:
    import ssl

    with serving(tmp_path, "--tls") as (process, urls):
        assert all(url.startswith("https://") for url in urls.values())
        assert process.stderr is not None
        line = next(line for line in process.stderr if "SSL_CERT_FILE=" in line)
        context = ssl.create_default_context(cafile=line.split("SSL_CERT_FILE=")[1].strip())
        for url in urls.values():
            with urllib.request.urlopen(url + "/_emulator/ready", context=context) as answer:
                assert answer.status == 200
        assert main(["health", "--url", urls["front"]]) == 0


def test_health_of_nothing_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["health", "--port", str(port)]) == 1
    assert "not ready" in capsys.readouterr().err


def test_the_environment_is_read_and_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    ports = tmp_path / "ports.json"
    variables = {**os.environ, "EMULATOR_PORT": "0", "EMULATOR_PORT_FILE": str(ports), "EMULATOR_SEDE": "1"}
    command = [sys.executable, "-m", "emulator", "serve"]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        while not ports.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "EMULATOR_SEDE is not a setting; did you mean EMULATOR_SEED?" in printed


GOOD = "version: 1\nrules: [{name: a, when: {vendor: databricks}, error: {kind: timeout}}]\n"
BAD = "version: 1\nrules: [{name: a, retry: 1, pass: true}]\n"
ODD = "version: 1\nrules: [{name: a, when: {vendor: nobody}, pass: true}]\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / f"s{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "code", "rows"),
    [
        pytest.param(GOOD, 0, [], id="nothing to say"),
        pytest.param(BAD, 1, [("error", 2, 19, "rules[0].retry")], id="a mistake"),
        pytest.param(ODD, 0, [("warning", 2, 34, "rules[0].when.vendor")], id="a warning"),
        pytest.param(
            "version: 1\nvendors: {tgi: {}, x: {}}\n", 1, [("error", 2, 20, "vendors.x")], id="no such vendor"
        ),
        pytest.param(
            "version: 1\nvendors: {azur: {}, tgi: 5, mindie: {profil: strict}}\nseed: x\n"
            "deployments: [{vendor: azure, name: a}, {vendor: tgl, name: b}]\n",
            1,
            [
                ("error", 2, 11, "vendors.azur"),
                ("error", 2, 26, "vendors.tgi"),
                ("error", 2, 38, "vendors.mindie.profil"),
                ("error", 3, 7, "seed"),
                ("error", 4, 50, "deployments[1].vendor"),
            ],
            id="the language's mistakes and the vendors' at once",
        ),
    ],
)
def test_check_gives_rows(
    scenario: Callable[[str], str],
    text: str,
    code: int,
    rows: list[tuple[str, int, int, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = scenario(text)
    assert main(["check", path, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert [(row["severity"], row["line"], row["column"], row["path"]) for row in found] == rows
    assert main(["check", path]) == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows)
    assert all(line.startswith(f"{path}:{row[1]}:{row[2]}: {row[3]}: ") for line, row in zip(lines, rows, strict=True))


def test_check_takes_each_file_of_a_folder_by_itself(
    tmp_path: Path, scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [scenario(BAD), scenario(GOOD), scenario(BAD)]
    assert main(["check", str(tmp_path), "--json"]) == 1
    assert [row["file"] for row in json.loads(capsys.readouterr().out)] == [paths[0], paths[2]]


def test_check_annotates_pull_requests(
    scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = scenario(BAD)
    assert main(["check", path]) == 1
    assert f"::error file={path},line=2,col=19::rules[0].retry: unknown key" in capsys.readouterr().out
    main(["check", path, "--json"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert "::error" in printed.err


REQUEST = {
    "vendor": "openvino",
    "method": "POST",
    "path": "/v3/chat/completions",
    "headers": {"x-emulator-session": "s"},
    "body": {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]},
}


@pytest.mark.parametrize(
    ("rules", "rule", "failed"),
    [
        pytest.param("[{name: a, when: {vendor: tgi}, pass: true}]", None, ["vendor"], id="none takes it"),
        pytest.param(
            "[{name: a, times: {nth: 2}, pass: true}, {name: b, when: {session: s}, pass: true}]",
            "b",
            ["times.nth", None],
            id="the second takes it",
        ),
        pytest.param(
            "[{name: a, times: {probability: 0}, pass: true}]", None, ["times.probability"], id="a draw decides"
        ),
    ],
)
def test_explain_says_why(
    tmp_path: Path,
    scenario: Callable[[str], str],
    rules: str,
    rule: str | None,
    failed: list[str | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST))
    path = scenario(f"version: 1\nrules: {rules}\n")
    assert main(["explain", path, str(request), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rule"], [word["failed"] for word in said["explanation"]]) == (rule, failed)
    assert main(["explain", path, str(request)]) == 0
    text = capsys.readouterr().out
    assert "takes it" in text
    if "probability" in rules:
        assert "drew 0." in text


@pytest.mark.parametrize(
    ("request_text", "says"),
    [
        pytest.param("{", "is not JSON", id="not JSON"),
        pytest.param('{"vendor": "tgi"}', "path: Field required", id="no path"),
        pytest.param('{"vendor": "tgl", "path": "/"}', "did you mean tgi?", id="no such vendor"),
    ],
)
def test_explain_refuses_what_is_no_request(
    tmp_path: Path,
    scenario: Callable[[str], str],
    request_text: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = tmp_path / "request.json"
    request.write_text(request_text)
    assert main(["explain", scenario(GOOD), str(request)]) == 2
    assert says in capsys.readouterr().err


def test_explain_says_when_the_vendor_refuses_before_any_rule(
    tmp_path: Path, scenario: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    request = tmp_path / "request.json"
    request.write_text('{"vendor": "databricks", "path": "/serving-endpoints/chat/completions", "body": {}}')
    assert main(["explain", scenario(GOOD), str(request)]) == 0
    assert capsys.readouterr().out == "No rule is asked.\nIt is refused: unauthenticated.\n"


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


LINES = ['{"type":"integer"}', '{"type":"string","minLength":2,"maxLength":1}', "no", '{"const":"ü"}', "true"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], ids=["in order", "the other way round"])
def test_instance_answers_each_line_by_itself(order: list[int]) -> None:
    command = [sys.executable, "-m", "emulator", "instance", "-", "--seed", "3"]
    text = "\n".join(LINES[n] for n in order)
    ended = subprocess.run(command, input=text.encode(), capture_output=True, timeout=20, check=True)
    found = dict(zip(order, map(json.loads, ended.stdout.splitlines()), strict=True))
    assert isinstance(found[0], int)
    assert set(found[1]) == set(found[2]) == {"error"}
    assert found[3] == "ü"
    again = subprocess.run(command, input=LINES[0].encode(), capture_output=True, timeout=20, check=True)
    assert json.loads(again.stdout) == found[0]


def test_instance_of_a_file(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "array", "minItems": 2, "items": {"enum": [1, 2]}}')
    assert main(["instance", str(path), "--mode", "minimal"]) == 0
    assert len(json.loads(capsysbinary.readouterr().out)) == 2
    path.write_text("false")
    assert main(["instance", str(path)]) == 1
    assert main(["instance", str(tmp_path / "none.json")]) == 2


def test_a_file_that_changes_is_served_anew(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    path = Path(scenario("version: 1\nname: first\n"))
    with serving(tmp_path, "--watch", str(path)) as (_, urls):
        path.write_text("version: 1\nname: second, and longer\n")
        deadline = time.monotonic() + 20
        name = ""
        while name != "second, and longer" and time.monotonic() < deadline:
            with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
                name = json.load(answer)["scenario"]["name"]
            time.sleep(0.02)
        assert name == "second, and longer"


def test_strict_on_the_command_line_refuses_what_no_rule_takes(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    with serving(tmp_path, "--strict", "--no-watch", scenario(GOOD)) as (_, urls):
        body = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 501
        assert "'a': vendor does not hold" in refused.value.read().decode()
        refused.value.close()


def test_the_schema_knows_every_switch_of_every_vendor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    sections = json.loads(capsys.readouterr().out)["properties"]["vendors"]["properties"]
    for vendor in VENDORS:
        known = sections[vendor.name]["oneOf"][1]
        assert set(known["properties"]) == set(vendor.settings.model_fields)
        assert all(field.get("description") for field in known["properties"].values())
        assert known["additionalProperties"] is False
