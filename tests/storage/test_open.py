"""A store is chosen by its URL."""

import ssl
from urllib.parse import urlsplit

import pytest

from emulator.storage import StoreError, is_memory, open_store
from emulator.storage.memory import MemoryStore
from emulator.storage.redis.store import open_redis


def test_the_default_is_the_memory_of_the_process() -> None:
    assert isinstance(open_store(), MemoryStore)


@pytest.mark.parametrize("url", ["memory://", "memory:", "MEMORY:///"])
def test_the_memory_of_the_process_is_known_however_it_is_written(url: str) -> None:
    assert is_memory(url)
    assert isinstance(open_store(url), MemoryStore)
    assert not is_memory("redis://[memory")


async def test_every_world_in_memory_is_empty() -> None:
    store = open_store("memory://")
    await store.open("one").count("", "rule", b"a")
    assert await store.open("one").count("", "rule", b"a") == 0


@pytest.mark.parametrize("url", ["", "memory", "tape://reel"])
def test_a_url_of_no_store_names_those_there_are(url: str) -> None:
    with pytest.raises(StoreError, match=r"memory://, redis://"):
        open_store(url)


@pytest.mark.parametrize("prefix", ["*", "", "a%0Ab"])
def test_a_prefix_that_is_no_beginning_of_keys_is_refused(prefix: str) -> None:
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
def test_what_is_wrong_in_a_url_is_told_without_its_password(url: str, why: str) -> None:
    with pytest.raises(StoreError, match=why) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)


async def test_a_store_behind_tls_has_its_name_checked() -> None:
    store = open_redis(urlsplit("rediss://:secret@store:6379"))
    context = store.server.connection_pool.make_connection().ssl_context  # type: ignore[attr-defined]
    assert (context.check_hostname, context.cert_reqs) == (True, ssl.CERT_REQUIRED)
