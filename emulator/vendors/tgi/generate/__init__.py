"""``POST /``, ``/generate`` and ``/generate_stream``."""
