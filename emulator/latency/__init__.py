"""How long answers take: delays, the time to each token, and a server that fills up."""

from emulator.latency.distributions import Delay
from emulator.latency.pacing import Latency, Load

__all__ = ["Delay", "Latency", "Load"]
