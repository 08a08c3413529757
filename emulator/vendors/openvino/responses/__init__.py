"""OpenVINO's Responses API, ``/v3/responses``, since 2026.2."""
