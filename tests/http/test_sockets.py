"""Listening sockets of a host: one port on each of its addresses."""

import errno
import socket
from contextlib import ExitStack

import pytest

from emulator.http.sockets import bind_sockets


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


async def bind(host: str, port: int = 0) -> list[tuple[str, int]]:
    with ExitStack() as stack:
        return [stack.enter_context(sock).getsockname()[:2] for sock in await bind_sockets(host, port)]


async def test_localhost_is_both_loopbacks_on_one_port() -> None:
    found = await bind("localhost")
    assert [address for address, _ in found] == ["127.0.0.1", "::1"][: 1 + has_ipv6()]
    assert len({port for _, port in found}) == 1


@pytest.mark.parametrize(("host", "first"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
async def test_address_is_bound_alone(host: str, first: str) -> None:
    found = await bind(host)
    assert [address for address, _ in found] == [first]


async def test_empty_host_is_every_address() -> None:
    assert "0.0.0.0" in [address for address, _ in await bind("")]


async def test_taken_port_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError) as caught:  # noqa: PT011
        await bind("localhost", taken.getsockname()[1])
    assert caught.value.errno == errno.EADDRINUSE


async def test_unknown_name_is_refused() -> None:
    with pytest.raises(socket.gaierror):
        await bind("no-such-host.invalid")


async def test_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011
        await bind("192.0.2.1")
    assert caught.value.errno == errno.EADDRNOTAVAIL
