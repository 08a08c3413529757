"""``POST /chat/completions``."""
