"""An offline stand-in for LLM-serving vendors: their wire, deterministic answers, faults on demand."""

__version__ = "0.1.0"
