"""Latency: delay distributions, due times of tokens, and the slowdown of a server under load."""

from emulator.latency.distributions import Delay
from emulator.latency.pacing import Latency, Load

__all__ = ["Delay", "Latency", "Load"]
