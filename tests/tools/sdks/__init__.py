"""What the vendors' own clients do with their default retries, judged by the rules for sound clients.

``python -m tests.tools.sdks`` plays each bundled scenario, and those of ``docs/sdks``, with each client, and writes
``docs/sdks.md``. A client runs in a process of its own, and each scenario in a session of its own, in real time.
"""
