"""``/openai/v1/responses`` and ``/openai/responses``: stored responses and conversations that continue them."""
