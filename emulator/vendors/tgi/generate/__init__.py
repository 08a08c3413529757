"""TGI's own routes ``POST /``, ``/generate`` and ``/generate_stream``."""
