"""Resolve the package for every system that is supported, from wheels alone.

``wheels.py`` fails where a supported target lacks a wheel, and where one that lacks it by this table has it.
``wheels.py rows`` prints the table of docs/platforms.md, ``wheels.py line`` the sentence of README.md.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("tls", "redis", "speed", "otel")


@dataclass(frozen=True)
class Target:
    """System; ``platform`` as uv names it, ``lacking``: extras without wheels, by the package that has none."""

    system: str
    processor: str
    platform: str
    pythons: tuple[str, ...] = ("3.11", "3.14")
    lacking: tuple[tuple[str, str], ...] = ()


TARGETS = (
    Target("Linux with glibc 2.28", "x86-64", "x86_64-manylinux_2_28"),
    Target("Linux with glibc 2.28", "ARM64", "aarch64-manylinux_2_28"),
    Target("Alpine (musl)", "x86-64", "x86_64-unknown-linux-musl", lacking=(("speed", "google-re2"),)),
    Target("Alpine (musl)", "ARM64", "aarch64-unknown-linux-musl", lacking=(("speed", "google-re2"),)),
    Target("macOS 13", "x86-64", "x86_64-apple-darwin"),
    Target("macOS 13", "ARM64", "aarch64-apple-darwin"),
    Target("Windows", "x86-64", "x86_64-pc-windows-msvc"),
    Target("Windows", "ARM64", "aarch64-pc-windows-msvc", ("3.12", "3.14"), (("tls", "cryptography"),)),
)


def resolve(target: Target, python: str, extras: list[str]) -> str:
    """Return why there are no wheels; empty if there are."""
    wanted = [word for extra in extras for word in ("--extra", extra)]
    command = ["uv", "pip", "compile", "--quiet", "--only-binary", ":all:", "--python-platform", target.platform]
    ended = subprocess.run(
        [*command, "--python-version", python, *wanted, "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if ended.returncode == 0 else ended.stderr.strip() or f"uv ended with {ended.returncode}"


def find_wrong() -> Iterator[str]:
    """Yield what differs from the table."""
    cases = [(target, python) for target in TARGETS for python in target.pythons]
    with ThreadPoolExecutor(4) as pool:  # uv waits for the index most of the time
        for found in pool.map(lambda case: list(compare(*case)), cases):
            yield from found


def compare(target: Target, python: str) -> Iterator[str]:
    """Yield what differs from the table for one target."""
    lacking = dict(target.lacking)
    where = f"{target.system}, {target.processor}, Python {python}"
    why = resolve(target, python, [extra for extra in EXTRAS if extra not in lacking])
    if why:
        yield f"{where}: {why}"
    for extra, package in lacking.items():
        why = resolve(target, python, [extra])
        if not why:
            yield f"{where}: {package} has wheels now; take {extra} off the table"
        elif package not in why:
            yield f"{where}: {why}"
    print(f"{where}: compared", flush=True)


def format_rows() -> Iterator[str]:
    """Yield the table of docs/platforms.md."""
    yield "| system | processor | Python | extras without wheels |"
    yield "| --- | --- | --- | --- |"
    for target in TARGETS:
        lacking = ", ".join(f"`{extra}`: no {package}" for extra, package in target.lacking)
        yield f"| {target.system} | {target.processor} | {target.pythons[0]} to {target.pythons[-1]} | {lacking} |"


def format_line() -> str:
    """Return the sentence of README.md."""
    systems = list(dict.fromkeys(target.system for target in TARGETS))
    return f"It runs on {', '.join(systems[:-1])} and {systems[-1]}, on x86-64 and ARM64"


if __name__ == "__main__":
    if sys.argv[1:] == ["rows"]:
        print("\n".join(format_rows()))
    elif sys.argv[1:] == ["line"]:
        print(format_line())
    elif shutil.which("uv") is None:
        sys.exit(".ci/wheels needs uv")
    else:
        found = list(find_wrong())
        print(*found, sep="\n", file=sys.stderr)
        sys.exit(1 if found else 0)
