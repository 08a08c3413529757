"""``/openai/v1/responses`` and ``/openai/responses``: answers that are kept, and conversations that go on from them."""
