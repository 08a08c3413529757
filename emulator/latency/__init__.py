"""How long answers take: delays, the time to each token, and a server that fills up."""

from emulator.latency.distributions import Delay, Distribution
from emulator.latency.pace import Latency, Load

__all__ = ["Delay", "Distribution", "Latency", "Load"]
