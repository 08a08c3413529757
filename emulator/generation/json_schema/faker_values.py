"""Faker instance for generated values, in a module of its own because the import takes about 100 ms."""

from threading import local

from faker import Faker


class _Fakers(local):
    """``one``: the thread's own, as between its seed and what it says no other may seed it."""

    def __init__(self) -> None:
        self.one = Faker("en_US")


FAKERS = _Fakers()
