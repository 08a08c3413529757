"""Faker instance for generated values, in a module of its own because the import takes about 100 ms."""

from threading import local

from faker import Faker


class _Fakers(local):
    """Faker instance of each thread, as no other thread may seed it between seed and draw."""

    def __init__(self) -> None:
        self.one = Faker("en_US")


FAKERS = _Fakers()
