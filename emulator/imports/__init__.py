"""Import recordings and fixtures of other tools, for ``emulator import``.

``files`` reads a file by its content, and writes what it holds, redacted; ``cassettes`` has vcrpy and HAR, ``logs``
LiteLLM and OpenAI batches, ``fixtures`` and ``mockserver`` the rules of aimock, llmposter and MockServer. ``vendors``
finds whose a recorded URL is.
"""
