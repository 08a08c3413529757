"""``POST /``, ``/generate`` and ``/generate_stream`` in TGI's form."""
