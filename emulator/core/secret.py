"""What nobody but its owner may read in whole."""

_SECRET = frozenset({"authorization", "api-key", "x-api-key", "x-emulator-token", "cookie", "proxy-authorization"})


def cut_credential(name: str, value: str) -> str:
    """``Bearer dapi-search`` → ``Bearer dapi…``; headers that hold no credential as they are."""
    if name.lower() not in _SECRET:
        return value
    scheme, space, token = value.rpartition(" ")
    return f"{scheme}{space}{cut(token)}"


def cut(secret: str) -> str:
    """``dapi-search`` → ``dapi…``: enough to tell it by."""
    return f"{secret[:4]}…"
