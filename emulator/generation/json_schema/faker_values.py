"""Faker as texts are made with it; some 100 ms to import, for all it can say."""

from threading import local

from faker import Faker


class _Fakers(local):
    """``one``: the thread's own, as between its seed and what it says no other may seed it."""

    def __init__(self) -> None:
        self.one = Faker("en_US")


FAKERS = _Fakers()
