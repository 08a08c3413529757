"""Build the message about a missing extra, with the ``pip`` command that installs it in this environment."""

from pathlib import Path

_NAME = "llm-emulator"
_ROOT = Path(__file__).parent.parent.parent


def explain_missing(what: str, extra: str, root: Path = _ROOT) -> str:
    """Return the message for a missing extra.

    Args:
        what: feature or command that needs it.
        root: folder in which the package lies: of a checkout, or of installed packages.
    """
    return f"{what} needs the extra {extra}: {_format_command(extra, root)}"


def _format_command(extra: str, root: Path) -> str:
    """Return the command: for a checkout, for the address that it was installed from, or for the package index."""
    if (root / "pyproject.toml").is_file():
        return f'pip install ".[{extra}]" in {root}'
    url = _find_url(root)
    origin = f" @ {url}" if url else ""
    return f'pip install "{_NAME}[{extra}]{origin}"'  # cmd and PowerShell know double quotes, too


def _find_url(root: Path) -> str | None:
    """Return the address of the installed distribution; ``None``: it is from an index.

    Source: packaging.python.org, "Recording the Direct URL Origin of installed distributions".
    """
    from importlib.metadata import distributions

    for found in distributions(name=_NAME, path=[str(root)]):
        text = found.read_text("direct_url.json")
        if text is not None:
            import json

            origin = json.loads(text)
            kind = origin.get("vcs_info", {}).get("vcs")
            return f"{kind}+{origin['url']}" if kind else str(origin["url"])
    return None
