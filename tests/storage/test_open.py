"""A store is chosen by its URL."""

import ssl
from urllib.parse import urlsplit

import pytest

from emulator.storage import StoreError, is_memory, open_store
from emulator.storage.memory import MemoryStore
from emulator.storage.redis.store import open_redis


def test_default_store_is_memory() -> None:
    assert isinstance(open_store(), MemoryStore)


@pytest.mark.parametrize("url", ["memory://", "memory:", "MEMORY:///"])
def test_memory_url_variants_open_memory_store(url: str) -> None:
    assert is_memory(url)
    assert isinstance(open_store(url), MemoryStore)
    assert not is_memory("redis://[memory")


async def test_each_opened_memory_state_is_empty() -> None:
    store = open_store("memory://")
    await store.open("one").count("", "rule", b"a")
    assert await store.open("one").count("", "rule", b"a") == 0


@pytest.mark.parametrize("url", ["", "memory", "tape://reel"])
def test_unknown_store_url_lists_supported_schemes(url: str) -> None:
    with pytest.raises(StoreError, match=r"memory://, redis://"):
        open_store(url)


@pytest.mark.parametrize("prefix", ["*", "", "a%0Ab"])
def test_invalid_key_prefix_is_rejected(prefix: str) -> None:
    with pytest.raises(StoreError, match="prefix"):
        open_store(f"redis://127.0.0.1?prefix={prefix}")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("unix://:s3cret@/run/redis.sock", "no store has a URL like that", id="another scheme"),
        pytest.param("redis://:s3cret/7@host", "host and port cannot be read", id="a slash in the password"),
        pytest.param("redis://:s3cret#7@host", "host and port cannot be read", id="a hash in the password"),
        pytest.param("redis://:s3cret[7@host", "host and port cannot be read", id="a bracket in the password"),
        pytest.param("redis://:7/s3cret@host", "the number of a database", id="digits and a slash in the password"),
        pytest.param("redis://:7?s3cret@host", r"only \?prefix=NAME", id="digits and a question mark in the password"),
        pytest.param("redis://:s3cret@host:99999", "host and port cannot be read", id="a port that is none"),
        pytest.param("redis://:s3cret@host/name", "the number of a database", id="a database by name"),
        pytest.param("redis://:s3cret@host?db=3", r"only \?prefix=NAME", id="a database in the query"),
        pytest.param("redis:host", "the number of a database", id="no slashes"),
    ],
)
def test_url_error_hides_password(url: str, why: str) -> None:
    with pytest.raises(StoreError, match=why) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)


async def test_tls_store_hostname_is_verified() -> None:
    store = open_redis(urlsplit("rediss://:secret@store:6379"))
    context = store.server.connection_pool.make_connection().ssl_context  # type: ignore[attr-defined]
    assert (context.check_hostname, context.cert_reqs) == (True, ssl.CERT_REQUIRED)
