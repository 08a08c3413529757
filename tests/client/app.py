"""The smallest client of a model."""

import json
import urllib.error
import urllib.request

MODEL = "databricks-meta-llama-3-3-70b-instruct"
PATH = "/serving-endpoints/chat/completions"


def ask(url: str, prompt: str = "Hello", **fields: object) -> int:
    """Ask once, by a vendor's base URL of Databricks; the HTTP status."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], **fields}
    headers = {"Authorization": "Bearer dapi-app"}
    request = urllib.request.Request(url + PATH, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.read()
        error.close()
        return error.code
