"""Rules over the calls of a session: what a sound client does with errors, waits and broken answers."""
