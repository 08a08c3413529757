"""Faker instance of each thread, from which ``values.py`` draws names, addresses and the like.

It has a module of its own because its import takes about 100 ms: it is loaded when first needed, in the worker thread.
"""

from threading import local

from faker import Faker


class _Fakers(local):
    """Faker instance of each thread, as no other thread may seed it between seed and draw."""

    def __init__(self) -> None:
        self.one = Faker("en_US")


FAKERS = _Fakers()
