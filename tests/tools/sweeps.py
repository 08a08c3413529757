"""Time sweeps of small programs against their runs without faults: ``python -m tests.tools.sweeps [--full]``.

Each program is swept with preloaded libraries and without them, which must give the same outcomes.

``--full`` runs the full sweep of each program besides, and compares its outcomes with those of the merged one; that
takes minutes. Exit status 1: some differ, or the merged sweep makes more than a fifth of its runs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from textwrap import dedent

from emulator import start
from tests.untyped_json import JSON

_PLAIN_RUNS = 5  # without faults; the median counts
_BARE = """
    import http.client, json, os
    from urllib.parse import urlsplit

    url = urlsplit(os.environ["DATABRICKS_HOST"])
    body = {"messages": [{"role": "user", "content": "What are tides?"}], "max_tokens": 24, "stream": True}
    connection = http.client.HTTPConnection(url.hostname, url.port)
    path = f"{url.path}/serving-endpoints/databricks-claude-sonnet-4-5/invocations"
    head = {"Authorization": "Bearer k", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), head)
    answer = connection.getresponse()
    lines = answer.read().decode().splitlines()
    assert answer.status == 200, answer.status
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert any(choice["finish_reason"] for chunk in chunks for choice in chunk["choices"])
"""
_OPENAI = """
    import os
    from openai import OpenAI

    client = OpenAI(base_url=os.environ["DATABRICKS_HOST"] + "/serving-endpoints", api_key="k", timeout=TIMEOUT)
    asked = {"model": "databricks-claude-sonnet-4-5", "max_tokens": 24}
    asked["messages"] = [{"role": "user", "content": "What are tides?"}]
"""
_STREAM = """
    text, is_finished = "", False
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            is_finished = is_finished or choice.finish_reason is not None
"""
_CHECK = """
    assert is_finished
"""
_GO_ON = """
    asked["messages"] += [{"role": "assistant", "content": text or "Nothing."}, {"role": "user", "content": "And why?"}]
    client.chat.completions.create(**asked)
"""
_WHOLE = """
    assert client.chat.completions.create(**asked).choices[0].message.content
"""
PROGRAMS = {
    "bare": _BARE,
    "openai, sound": _OPENAI.replace("TIMEOUT", "3") + _STREAM + _CHECK,
    "openai, takes a cut stream for whole": _OPENAI.replace("TIMEOUT", "600") + _STREAM + _GO_ON,
    "openai, stream and plain": _OPENAI.replace("TIMEOUT", "600") + _STREAM + _CHECK + _WHOLE,
}


def sweep(file: Path, *flags: str) -> JSON:
    """Sweep a program as a user does; return the JSON report."""
    report = file.with_name("sweep.json")
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "emulator", "sweep", "--vendor", "databricks", "--json", str(report), *flags]
    subprocess.run([*words, "--", sys.executable, str(file)], stdout=subprocess.DEVNULL, check=False)
    found: JSON = json.loads(report.read_text(encoding="utf-8"))
    return found


def measure_plain(file: Path) -> float:
    """Return the median seconds of a run without faults."""
    with start() as server:
        variables = {**os.environ, **server.env("databricks")}
        subprocess.run([sys.executable, str(file)], env=variables, check=True, stdout=subprocess.DEVNULL)
        times = []
        for _ in range(_PLAIN_RUNS):
            began = time.monotonic()
            subprocess.run([sys.executable, str(file)], env=variables, check=True, stdout=subprocess.DEVNULL)
            times.append(time.monotonic() - began)
    return median(times)


def list_outcomes(report: JSON) -> Mapping[tuple[str, str, str], JSON]:
    """Return outcome and broken rules of each cell; tokens in between have one position in the merged sweep."""
    found: dict[tuple[str, str, str], set[JSON]] = {}
    for cell in report["cells"]:
        position = "between tokens" if cell["position"].startswith("after token") else cell["position"]
        rules = sorted(text.partition(":")[0] for text in cell["broken"])
        found.setdefault((cell["call"], cell["fault"], position), set()).add((cell["outcome"], *rules))
    return found


def count_runs(report: JSON) -> int:
    return sum(not cell["like"] for cell in report["cells"])


def time_sweep(name: str, file: Path, plain: float, *flags: str) -> JSON:
    """Sweep a program and print the figures; ``plain``: seconds of its run without faults."""
    before, began = os.times(), time.monotonic()
    report = sweep(file, *flags)
    seconds, after = time.monotonic() - began, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(
        f"{name}: {plain:.2f} s without faults; {len(report['cells'])} cells, {count_runs(report)} of them run, "
        f"{seconds:.1f} s = {seconds / plain:.1f} x; processor {spent:.1f} s = {spent / plain:.1f} x; "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return report


def judge(name: str, file: Path, flags: Sequence[str], *, is_full: bool) -> bool:
    """Print the figures of a program; return whether its sweeps agree."""
    plain = measure_plain(file)
    merged = time_sweep(name, file, plain, *flags)
    alone = time_sweep(f"{name}, without preloading", file, plain, "--no-preload", *flags)
    if list_outcomes(merged) != list_outcomes(alone):
        print("  without preloading: outcomes differ", flush=True)
        return False
    if not is_full:
        return True
    full = sweep(file, "--full", *flags)
    few, many = list_outcomes(merged), list_outcomes(full)
    wrong = [key for key in many.keys() | few.keys() if many.get(key) != few.get(key)]
    print(f"  full: {count_runs(full)} runs; {len(wrong)} outcomes differ", *map(str, wrong), sep="\n    ", flush=True)
    return not wrong and count_runs(merged) * 5 <= count_runs(full)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.sweeps", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"default: all of {', '.join(PROGRAMS)}")
    parser.add_argument("--full", action="store_true", help="run the full sweep, too")
    parser.add_argument("--jobs", help="runs at a time")
    options = parser.parse_args()
    flags = ["--jobs", options.jobs] if options.jobs else []
    agree = True
    with TemporaryDirectory() as folder:
        for name in options.programs or PROGRAMS:
            file = Path(folder, "program.py")
            file.write_text(dedent(PROGRAMS[name]), encoding="utf-8")
            agree &= judge(name, file, flags, is_full=options.full)
    return not agree


if __name__ == "__main__":
    sys.exit(main())
