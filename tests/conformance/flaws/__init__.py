"""Client programs with one planted flaw each, and a sound one, judged by the rules of verdicts."""
