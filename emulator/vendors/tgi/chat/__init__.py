"""TGI's ``POST /v1/chat/completions``: parse a request, render its response."""
