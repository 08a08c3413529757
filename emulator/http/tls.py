"""Configure TLS: with given certificate files or with a locally signed certificate.

``emulator serve --tls`` and ``emulator record`` listen with it; clients trust the authority that it finds.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.core.dataclass import fast_dataclass
from emulator.core.extras import explain_missing
from emulator.core.os_errors import explain_certificate, explain_file
from emulator.http.certificate_names import can_be_named, find_own_names
from emulator.settings import Settings, SettingsError

if TYPE_CHECKING:
    from emulator.http.certificates import Authority

_ALWAYS = ("localhost", "*.localhost", "127.0.0.1", "::1")


@fast_dataclass(frozen=True, slots=True, eq=False)
class Tls:
    """TLS configuration of the listening sockets.

    Fields:
        context: absent: plain HTTP.
        authority: the local authority that clients must trust, if it signed the certificate.
    """

    context: ssl.SSLContext | None = None
    authority: Authority | None = None


def open_tls(settings: Settings) -> Tls:
    """Return the TLS configuration of the settings.

    Raises:
        SettingsError: a file cannot be used, or a package is missing.
    """
    if not settings.tls:
        return Tls()
    if settings.tls_cert is not None and settings.tls_key is not None:
        try:
            return Tls(load_context(settings.tls_cert, settings.tls_key))
        except OSError as error:
            reason = explain_certificate(settings.tls_cert, settings.tls_key, error)
            raise SettingsError(f"--tls-cert, --tls-key: {reason}") from None
    names = find_names(settings.host, settings.tls_name)
    authority = open_authority(settings)
    try:
        from emulator.http.certificates import find_uncovered, make_context

        outside = find_uncovered(authority.certificate, names)  # the machine may have been renamed
        return Tls(make_context(authority, [name for name in names if name not in outside]), authority)
    except OSError as error:
        raise SettingsError(f"cannot make a certificate: {explain_file(error)}") from None


def load_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a server context for a certificate and its key, both PEM.

    Raises:
        OSError, ssl.SSLError: a file cannot be read, or certificate and key do not match.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key, password="")  # without it OpenSSL prompts on the terminal
    return context


def open_authority(settings: Settings) -> Authority:
    """Return the user's local authority; create it if there is none.

    Raises:
        SettingsError: it cannot be used, or a package is missing.
    """
    try:
        from emulator.http.certificates import load_authority
    except ModuleNotFoundError:
        if is_windows_arm():
            raise SettingsError(
                "a locally signed certificate needs cryptography, which has no wheel for Windows on ARM: "
                "pass --tls-cert and --tls-key of your own, or serve without --tls"
            ) from None
        raise SettingsError(explain_missing("a locally signed certificate", "tls")) from None
    return load_authority(_find_folder(settings), _list_requested_names(settings))


def is_windows_arm(system: str = sys.platform, machine: str | None = None) -> bool:
    """Return whether this is Windows on ARM64; ``machine``: as :func:`platform.machine` names it."""
    if system != "win32":
        return False
    if machine is None:
        import platform

        machine = platform.machine()
    return machine.lower() in ("arm64", "aarch64")


def find_authority(settings: Settings) -> Path | None:
    """Return the path of the local authority's certificate; ``None`` if there is none."""
    try:
        file = _find_folder(settings) / "authority" / "ca.pem"
    except SettingsError:
        return None
    return file if file.is_file() else None


def _find_folder(settings: Settings) -> Path:
    return settings.tls_dir or data_folder() / "tls"


def data_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder for the emulator's persistent data of this user.

    Raises:
        SettingsError: the user has no home folder.
    """
    given = Path(environment.get("LOCALAPPDATA" if platform == "win32" else "XDG_DATA_HOME", ""))
    if given.is_absolute():
        return given / "llm-emulator"
    try:
        home = Path.home()
    except RuntimeError:
        raise SettingsError("there is no home folder to keep a local authority in; --tls-dir names one") from None
    places = {"win32": "AppData/Local", "darwin": "Library/Application Support"}
    return home / places.get(platform, ".local/share") / "llm-emulator"


def find_names(host: str, requested: Sequence[str] = ()) -> list[str]:
    """Return the names for a locally signed certificate: this machine, the listening address and ``--tls-name``.

    Raises:
        SettingsError: a ``--tls-name`` is not a host name or address.
    """
    for name in requested:
        if not can_be_named(name):
            raise SettingsError(f"--tls-name takes host names and addresses, not {name!r}")
    found = [*find_own_names(), *filter(can_be_named, [host])]
    return list(dict.fromkeys([*_ALWAYS, *(name.lower() for name in (*found, *requested))]))


def _list_requested_names(settings: Settings) -> list[str]:
    """Return the names that the authority must sign for besides those of this machine."""
    return [name.lower() for name in (settings.host, *settings.tls_name) if can_be_named(name)]
