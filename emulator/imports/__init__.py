"""Import recordings and fixtures of other tools.

``files`` reads a file by its content, and writes what it holds, redacted; ``cassettes`` has vcrpy and HAR, ``logs``
LiteLLM and OpenAI batches, ``fixtures`` the rules of aimock, MockServer and llmposter. ``vendors`` finds whose a
recorded URL is.
"""
