"""What the URL of a shared server says."""

from urllib.parse import SplitResult, parse_qs

_NOT_A_PREFIX = set("*?[]{}")


def read_prefix(url: SplitResult) -> str:
    """How every key begins, of ``redis://[[user]:password@]host[:port][/number][?prefix=name]``.

    Raises:
        ValueError: another part says nothing here; it is not told, as it may be of a password.
    """
    number = url.path.removeprefix("/")
    if number and not (number.isascii() and number.isdigit()):
        raise ValueError("after the host stands the number of a database, as in redis://host:6379/3")
    asked = parse_qs(url.query, keep_blank_values=True)
    if asked.keys() - {"prefix"} or url.fragment:
        raise ValueError("after the database only ?prefix=NAME may follow")
    prefix = asked.get("prefix", ["emulator"])[-1]
    if not prefix or not prefix.isprintable() or set(prefix) & _NOT_A_PREFIX:
        raise ValueError(f"the prefix {prefix!r} cannot be the beginning of keys")
    return prefix
