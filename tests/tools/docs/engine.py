"""The files of docs/ci that need a container engine, run on the one at hand: ``python -m tests.tools.docs.engine``.

It builds the image under the name that the files use. Needs `docker compose`; for Python `testcontainers` and `openai`,
for Node `npm install testcontainers openai` in the folder that --node names.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent.parent.parent
CI = ROOT / "docs" / "ci"
IMAGE = yaml.safe_load((CI / "compose.yaml").read_text(encoding="utf-8"))["services"]["emulator"]["image"]


def run(folder: Path, *command: str) -> bool:
    """Run a command; print a line with its outcome, and return whether it succeeded."""
    done = subprocess.run(command, cwd=folder, check=False).returncode == 0
    print("ok   " if done else "FAIL ", " ".join(command), flush=True)
    return done


def run_compose(folder: Path) -> bool:
    """Whether the application's test passes and the report is there."""
    report = folder / "report"
    report.mkdir()
    report.chmod(0o777)
    try:
        passed = run(folder, "docker", "compose", "up", "--exit-code-from", "app")
    finally:
        run(folder, "docker", "compose", "down", "--volumes")
    written = (report / "calls.html").is_file()
    print("ok   " if written else "FAIL ", "report/calls.html", flush=True)
    return passed and written


def run_alone(folder: Path) -> bool:
    """Whether the container of the one line gets ready."""
    ready = "timeout 20 sh -c 'until emulator health; do sleep 0.2; done'"
    try:
        return run(folder, "sh", "docker-run.sh") and run(folder, "docker", "exec", "emulator", "sh", "-c", ready)
    finally:
        run(folder, "docker", "stop", "emulator")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--node", type=Path, help="a folder in which testcontainers and openai are installed")
    options.add_argument("--built", action="store_true", help=f"{IMAGE} is there already")
    chosen = options.parse_args()
    if not chosen.built and not run(ROOT, "docker", "build", "--network", "host", "--tag", IMAGE, "."):
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(CI, folder, dirs_exist_ok=True)
        folder.chmod(0o755)
        done = [run(folder, "docker", "compose", "config", "--quiet"), run_compose(folder), run_alone(folder)]
        pytest = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".")
        done.append(run(folder, sys.executable, *pytest, "test_testcontainers.py"))
        if chosen.node:
            os.symlink(chosen.node.resolve() / "node_modules", folder / "node_modules")
            done.append(run(folder, "node", "--test", "testcontainers.test.mjs"))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
