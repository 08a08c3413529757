"""Files of scenarios, read as long as they are files and no larger than a scenario that is sent may be."""

import errno
from pathlib import Path

LARGEST = 16 * 1024**2  # bytes


def read_file(path: Path) -> bytes:
    """All of a file.

    Raises:
        OSError: it cannot be read; :func:`explain` says why.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for, and a device never ends
        raise OSError(errno.EINVAL, "not a file", str(path))
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"more than {LARGEST // 1024**2} MiB", str(path))
    return data


def explain(error: OSError) -> str:
    """Why a file cannot be read, as the end of a sentence."""
    reason = error.strerror or "cannot be read"
    return reason[:1].lower() + reason[1:]
