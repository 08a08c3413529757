"""Tests of ``emulator sweep``: a client without and with retries, run for every fault."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from emulator import start
from emulator.cli import main
from emulator.cli.sweep import format_bar

pytestmark = pytest.mark.slow

PATIENCE = 60.0  # seconds
APP = """
    import json, os, sys, urllib.error, urllib.request

    def ask():
        url = os.environ["DATABRICKS_HOST"] + "/serving-endpoints/databricks-claude-sonnet-4-5/invocations"
        body = json.dumps({"messages": [{"role": "user", "content": "What are tides?"}], "max_tokens": 9}).encode()
        head = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=600) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
"""
FRAGILE = dedent(APP) + "ask()\n"


def run(folder: Path, source: str, *flags: str) -> tuple[int, dict[tuple[str, str], Mapping[str, str]]]:
    """Sweep a program; return the exit status and the cells by fault and position."""
    app, report = folder / "app.py", folder / "sweep.json"
    app.write_text(source, encoding="utf-8")
    code = main(["sweep", "--json", str(report), *flags, "--", sys.executable, "-S", str(app)])
    cells = json.loads(report.read_text(encoding="utf-8"))["cells"]
    return code, {(cell["fault"], cell["position"]): cell for cell in cells}


@pytest.mark.covers("language/commands", "sweep")
def test_sweep_tells_what_a_client_survives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / "out" / name for name in ("j.xml", "s.sarif", "p.html", "failures")}
    flags = [
        text
        for name, file in zip(("junit", "sarif", "html", "failures"), files.values(), strict=True)
        for text in (f"--{name}", str(file))
    ]
    code, cells = run(tmp_path, FRAGILE, *flags, "--jobs", "4", "--hang-after", "15s")
    assert code == 1
    outcomes = {key: cell["outcome"] for key, cell in cells.items()}
    assert outcomes["rate_limited", "before the head"] == "failed loudly"
    assert outcomes["disconnect", "between tokens"] == "failed loudly"
    assert outcomes["wrong_usage", ""] == outcomes["stall", "between tokens"] == "survived"
    assert {fault for (fault, _), outcome in outcomes.items() if outcome == "hung"} == {"hang"}
    said = capsys.readouterr().out
    assert "| databricks chat | rate_limited | before the head | failed loudly |" in said
    suite = ElementTree.parse(files["j.xml"]).getroot()
    failed = sum(outcome != "survived" for outcome in outcomes.values())
    assert (int(suite.attrib["tests"]), int(suite.attrib["failures"])) == (len(cells), failed)
    sarif = json.loads(files["s.sarif"].read_text(encoding="utf-8"))
    assert len(sarif["runs"][0]["results"]) == failed
    page = files["p.html"].read_text(encoding="utf-8")
    assert page.count("<details ") == failed
    assert "HTTPError" in page  # the last words of the command
    check_scenarios(files["failures"], tmp_path / "app.py")


def check_scenarios(folder: Path, app: Path) -> None:
    """Serve some of the scenarios that were written: the program fails with each again."""
    files = sorted(file for file in folder.iterdir() if "hang" not in file.name)
    assert main(["check", "--strict", *map(str, files[:1])]) == 0
    for file in files[:: len(files) // 3]:
        with start(file) as server:
            variables = {**os.environ, **server.env("databricks")}
            ended = subprocess.run([sys.executable, "-S", str(app)], env=variables, capture_output=True, check=False)
        assert ended.returncode == 1, file


def test_sweep_goes_on_where_it_ended(tmp_path: Path) -> None:
    flags = "--shard", "2/9", "--max-runs", "1"  # without a cell that hangs
    _, some = run(tmp_path, FRAGILE, *flags)
    _, more = run(tmp_path, FRAGILE, *flags)
    assert some.items() < more.items()
    _, other = run(tmp_path, f"{FRAGILE}#", *flags)  # of another program nothing is taken over
    assert other.keys() == some.keys()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot await forked processes")
def test_preloaded_sweep_gives_the_same_outcomes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--shard", "1/3", "--hang-after", "15s"
    plain, preloaded = run(tmp_path, FRAGILE, "--no-preload", *flags), run(tmp_path, FRAGILE, *flags)
    assert plain == preloaded
    assert "preloaded" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot await forked processes")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param(
            "import sys\nif 'json.tool' in sys.modules: ask()\nimport json.tool",
            "the calls of two runs differ",
            id="other calls",
        ),
        pytest.param("sys.stdout.flush(); os._exit(0)", "ends without the end of its interpreter", id="it breaks off"),
        pytest.param(
            "sys.modules['gevent.monkey'] = type(sys)('gevent.monkey')",
            "the program imports gevent.monkey, which changes libraries",
            id="it changes libraries",
        ),
    ],
)
def test_command_that_cannot_be_preloaded_is_swept_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    _, cells = run(tmp_path, f"{FRAGILE}{source}\n", "--max-runs", "1")
    err = capsys.readouterr().err
    assert err.startswith("sweep: nothing is preloaded: ")
    assert said in err
    assert cells


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot await forked processes")
def test_sweep_whose_fork_server_is_lost_leaves_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run is started by itself, two learn and check; the third after them ends the process that forks."""
    source = f"""
        with open({str(tmp_path / "runs")!r}, "a+") as runs:
            runs.write("x")
            made = runs.tell()
        with open(f"/proc/{{os.getppid()}}/cmdline") as parent:
            if made == 6 and "fork_server" in parent.read():
                os.kill(os.getppid(), 9)
    """
    junit = tmp_path / "j.xml"
    flags = "--jobs", "1", "--shard", "2/9", "--junit", str(junit)  # without a cell that hangs
    code, cells = run(tmp_path, f"{dedent(APP)}{dedent(source)}ask()\n", *flags)
    assert code == 2
    out, err = capsys.readouterr()
    assert err == "the sweep has ended early: the process that preloads libraries has ended\n"
    assert out.startswith(f"{len(cells)} cells, ")
    assert len(ElementTree.parse(junit).getroot().findall(".//testcase")) == len(cells) > 0


@pytest.mark.parametrize(
    ("source", "flags", "said"),
    [
        pytest.param("", [], "the command made no call to databricks", id="no call"),
        pytest.param("import time; time.sleep(9)", ["--hang-after", "100ms"], "did not end", id="it hangs"),
        pytest.param("print('why'); exit(3)", [], "exits with 3:\nwhy", id="it fails"),
    ],
)
def test_command_that_cannot_be_swept_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, flags: list[str], said: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(source, encoding="utf-8")
    assert main(["sweep", *flags, "--", sys.executable, str(app)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "left", "shown"),
    [
        pytest.param(0, 30, "[------------------------] 0 of 30 runs, 2 failed, 1800 s left", id="nothing yet"),
        pytest.param(20, 10, "[################--------] 20 of 30 runs, 2 failed, 30 s left", id="two thirds"),
        pytest.param(30, 0, "[########################] 30 of 30 runs, 2 failed, 0 s left", id="all"),
    ],
)
def test_progress_has_the_time_left(made: int, left: int, shown: str) -> None:
    assert format_bar(made, left, 2, 60.0) == shown


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C of another process is a signal there")
def test_ctrl_c_ends_all_processes_and_leaves_a_report(tmp_path: Path) -> None:
    """The cells that hang are run first, and wait for ever; the others end."""
    app, report = tmp_path / "app.py", tmp_path / "sweep.json"
    app.write_text(FRAGILE, encoding="utf-8")
    words = [sys.executable, "-S", str(app)]
    flags = ["--hang-after", "600s", "--jobs", "5", "--json", str(report)]
    process = subprocess.Popen(
        [sys.executable, "-m", "emulator", "sweep", *flags, "--", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        ends = time.monotonic() + PATIENCE
        while not report.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < ends
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["complete"] is False
    assert out.startswith(f"{len(found['cells'])} cells, ")
    assert {cell["fault"] for cell in found["cells"]}.isdisjoint({"hang"})
    assert str(app) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_shards_join_by_their_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (str(tmp_path / f"{number}.json") for number in (1, 2))
    flags = ["--vendor", "databricks", "--jobs", "4"]
    app = tmp_path / "app.py"
    app.write_text(FRAGILE, encoding="utf-8")
    words = ["--", sys.executable, "-S", str(app)]
    assert main(["sweep", "--shard", "1/2", "--json", one, *flags, *words]) == 1
    assert main(["sweep", "--shard", "2/2", "--json", two, *flags, *words]) == 1
    parts = [json.loads(Path(file).read_text(encoding="utf-8")) for file in (one, two)]
    assert [part["complete"] for part in parts] == [False, False]
    capsys.readouterr()
    _, cells = run(tmp_path, FRAGILE, "--from", one, "--from", two, "--max-runs", "0")
    assert len(cells) == len({(cell["fault"], cell["position"]) for part in parts for cell in part["cells"]})
    assert json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))["complete"] is True
    _, _ = run(tmp_path, f"{FRAGILE}#", "--from", one, "--max-runs", "0")
    assert "1.json is of another command or of other files" in capsys.readouterr().err


def git(folder: Path, *words: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"
    subprocess.run(["git", *who, *words], cwd=folder, env=environ, check=True, capture_output=True)


def test_since_runs_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("import client; client.ask()\n", encoding="utf-8")
    (tmp_path / "client.py").write_text(dedent(APP), encoding="utf-8")
    (tmp_path / "README").write_text("", encoding="utf-8")
    command = [
        "sweep",
        "--json",
        "sweep.json",
        "--shard",
        "1/5",
        "--watch",
        "client.py",
        "--",
        sys.executable,
        "app.py",
    ]
    assert main(command) == 1
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    since = ["sweep", "--since", "HEAD", "--max-runs", "0", *command[1:]]

    (tmp_path / "README").write_text("more", encoding="utf-8")
    whole = Path("sweep.json").read_text(encoding="utf-8")
    assert main(since) == 1
    assert Path("sweep.json").read_text(encoding="utf-8") == whole
    assert "all cells are run" not in capsys.readouterr().err

    (tmp_path / "client.py").write_text(f"{dedent(APP)}#", encoding="utf-8")
    assert main(since) == 0  # nothing is taken over, and nothing may be run
    assert "1 files changed since HEAD (client.py); all cells are run" in capsys.readouterr().err
    git(tmp_path, "checkout", "client.py")

    answers = "version: 1\nname: answers\nrules:\n  - {name: short, reply: {text: High water.}}\n"
    (tmp_path / "answers.yaml").write_text(answers, encoding="utf-8")
    assert main([*since[:-3], "--scenario", "answers.yaml", *since[-3:]]) == 0  # another answer is another call
    assert main(["sweep", "--since", "nothing", *command[1:]]) == 2
    assert "--since: " in capsys.readouterr().err
