"""Redis 6 or Valkey 7, and what speaks their protocol: one server-side script for each atomic verb."""

from emulator.storage.redis.store import open_redis

__all__ = ["open_redis"]
