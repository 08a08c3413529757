"""Azure's Responses API, ``/openai/v1/responses`` and ``/openai/responses``: stored responses and conversations."""
