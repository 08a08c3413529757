"""TGI's ``POST /v1/chat/completions``."""
