"""Encodings independent of any vendor: SSE, floats, Prometheus text, images, audio, Lark grammars."""
