"""Azure OpenAI's audio routes (``/audio/…``): transcribe and translate sounds, speak texts."""
