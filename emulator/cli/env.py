"""``emulator env``: print the variables a vendor's clients read, in the format of a shell or of a file."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from emulator.cli.choices import VENDOR_NAMES
from emulator.cli.files import read_port_file
from emulator.cli.quoting import quote
from emulator.settings import Settings, SettingsError, find_visible_host
from emulator.vendors import environment_of

_TRUST = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "DENO_CERT")
_BARE = re.compile(r"[A-Za-z0-9_@%+:,./\\=-]+")
_SINGLE_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")


def print_environment(name: str, settings: Settings, form: str = "sh", port: str | None = None) -> None:
    """Print the variables of a vendor's clients, with those that make them trust the local authority over TLS.

    Args:
        port: ``--port``, which wins over the port file unless it is 0.

    Raises:
        SettingsError: the port is not known, the vendor is not served, or the authority cannot be used.
    """
    url = _find_url(name, settings, port)
    variables = dict(environment_of(name, url))
    if url.startswith("https:"):
        variables.update(dict.fromkeys(_TRUST, _find_certificate(settings)))
    print(_FORMATS[form](variables), end="")


def _find_url(name: str, settings: Settings, port: str | None) -> str:
    """Return the vendor's base URL: of the port file if one is set and no port is given, else by the front port."""
    if settings.port_file is not None and (port is None or not settings.port):
        return _read_url(name, settings.port_file)
    if not settings.port:
        raise SettingsError("--port 0 takes free ports; pass the --port-file that serve writes")
    number = settings.port + 1 + VENDOR_NAMES.index(name)
    return f"{settings.scheme}://{find_visible_host(settings.host)}:{number}"


def _read_url(name: str, path: Path) -> str:
    try:
        urls = read_port_file(path)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if name not in urls:
        raise SettingsError(f"{name!r} is not served by the emulator of {path}")
    return urls[name]


def _find_certificate(settings: Settings) -> str:
    """Return the path of the certificate that clients must trust; create the local authority if there is none.

    Raises:
        SettingsError: the path has a line break, which formats of one line a variable cannot express.
    """
    path = settings.tls_cert
    if path is None:
        from emulator.http.tls import open_authority

        path = open_authority(settings).path
    text = str(path.absolute())
    if len(text.splitlines()) > 1:
        raise SettingsError("the path of the certificate has a line break")
    return text


def _format_sh(variables: Mapping[str, str]) -> str:
    return "".join(f"export {name}={quote(value)}\n" for name, value in variables.items())


def _format_dotenv(variables: Mapping[str, str]) -> str:
    """Format for python-dotenv, Node, Docker and Compose, which agree on plain values and single quotes alone."""
    return "".join(f"{name}={_quote_dotenv(value)}\n" for name, value in variables.items())


def _quote_dotenv(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    return f"'{value}'" if "'" not in value else f'"{value}"'


def _format_json(variables: Mapping[str, str]) -> str:
    return json.dumps(variables, indent=1) + "\n"


def _format_github(variables: Mapping[str, str]) -> str:
    """Format for ``$GITHUB_ENV``. Source: GitHub documentation, "Workflow commands for GitHub Actions"."""
    return "".join(f"{name}={value}\n" for name, value in variables.items())


def _format_powershell(variables: Mapping[str, str]) -> str:
    """Format for ``Invoke-Expression``. Source: about_Quoting_Rules; PowerShell also reads curly single quotes."""
    quoted = {name: _SINGLE_QUOTES.sub(r"\1\1", value) for name, value in variables.items()}
    return "".join(f"$env:{name} = '{value}'\n" for name, value in quoted.items())


def _format_cmd(variables: Mapping[str, str]) -> str:
    """Format for a batch file that ``call`` runs, in which ``%`` is doubled. Source: Microsoft, "set", "call"."""
    quoted = {name: value.replace("%", "%%") for name, value in variables.items()}
    return "".join(f'@set "{name}={value}"\n' for name, value in quoted.items())


_FORMATS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "sh": _format_sh,
    "dotenv": _format_dotenv,
    "json": _format_json,
    "github": _format_github,
    "powershell": _format_powershell,
    "cmd": _format_cmd,
}
