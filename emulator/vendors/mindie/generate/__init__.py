"""MindIE's ``POST /``, ``/generate`` and ``/generate_stream``, whose requests and responses have TGI's form."""
