"""Store in Redis 6, Valkey 7 or a compatible server; each atomic operation is one Lua script."""

from emulator.storage.redis.store import open_redis

__all__ = ["open_redis"]
