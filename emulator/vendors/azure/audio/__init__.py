"""``/audio/…``: transcribe and translate sounds, speak texts."""
