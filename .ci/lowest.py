"""Print a constraint for each requirement of the package: its lowest release."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("tls", "redis", "speed", "tokens", "otel", "fit")  # those that a user installs
PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def list_lowest() -> list[str]:
    """``aiohttp>=3.14.4,<3.15`` → ``aiohttp==3.14.4``, for what is installed with the package and its extras."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *[line for name in EXTRAS for line in extras[name]]]
    return [re.sub(r">=([0-9.]+)[^;]*", r"==\1", requirement) for requirement in wanted]


if __name__ == "__main__":
    print("\n".join(list_lowest()))
