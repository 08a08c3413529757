"""Record, replay, import, compare and measure exchanges with a real service.

An exchange is one request with its response, the time of every write, and how the response ended: ``exchange`` reads
and writes its file, ``redact`` removes credentials before anything is written, ``relay`` passes a request on to the
service, and ``server`` listens for ``emulator record``.
"""
