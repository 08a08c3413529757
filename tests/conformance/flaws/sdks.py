"""Clients of the vendors, without attempts of their own, as the application takes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

from tests.conformance.flaws.application import TOKENS, Answer, Client, Failed, Piece, Stream
from tests.untyped_json import JSON

DATABRICKS = "databricks-meta-llama-3-3-70b-instruct"


@dataclass(frozen=True)
class Sdk:
    """A client's package, the vendor that it calls, and how it is made of URL and key; ``modules``: it needs these."""

    vendor: str
    modules: Sequence[str]
    make: Callable[[str, str], Client]


def _find_wait(headers: Mapping[str, str] | None) -> float | None:
    value = (headers or {}).get("retry-after")
    return None if value is None else float(value)


def _follow(chunks: Iterator[JSON], read: Callable[[JSON], Piece]) -> Iterator[Piece]:
    """Yield the pieces of an answer that has begun."""
    try:
        for chunk in chunks:
            yield read(chunk)
    except Exception as error:  # each client and each of its transports has its own
        raise Failed(error, is_begun=True) from error


def _read_chunk(chunk: JSON) -> Piece:
    """Read a chunk in the format of OpenAI."""
    choice = chunk.choices[0] if chunk.choices else None
    usage = getattr(chunk, "usage", None)
    return Piece(
        text=(choice.delta.content or "") if choice else "",
        is_last=bool(choice and choice.finish_reason),
        tokens=getattr(usage, "completion_tokens", None),
    )


def _read_answer(answer: JSON) -> Answer:
    """Read an answer in the format of OpenAI."""
    choice = answer.choices[0]
    calls = [(call.id, call.function.arguments) for call in choice.message.tool_calls or ()]
    message: JSON = {"role": "assistant", "content": choice.message.content or ""}
    if calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": "search", "arguments": text}} for name, text in calls
        ]
    usage = getattr(answer, "usage", None)
    tokens = getattr(usage, "completion_tokens", None)
    return Answer(choice.message.content or "", bool(choice.finish_reason), tokens, calls, message)


class Plain:
    """No client at all: HTTP of the standard library on a serving endpoint of Databricks."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = urlsplit(url), key

    def _send(self, body: JSON, timeout: float) -> tuple[HTTPConnection, HTTPResponse]:
        connection = HTTPConnection(self._url.hostname or "", self._url.port, timeout=timeout)
        head = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            path = f"{self._url.path}/serving-endpoints/{DATABRICKS}/invocations"
            connection.request("POST", path, json.dumps(body), head)
            answer = connection.getresponse()
            if answer.status != 200:
                asked = _find_wait({name.lower(): value for name, value in answer.headers.items()})
                raise Failed(answer.read().decode(), status=answer.status, asked=asked)
        except OSError as error:
            connection.close()
            raise Failed(error) from error
        except Failed:
            connection.close()
            raise
        return connection, answer

    def ask(self, messages: list[JSON], tools: list[JSON], timeout: float) -> Answer:
        connection, answer = self._send(
            {"messages": messages, "max_tokens": TOKENS, **({"tools": tools} if tools else {})}, timeout
        )
        found = json.loads(answer.read())
        connection.close()
        choice = found["choices"][0]
        calls = [(call["id"], call["function"]["arguments"]) for call in choice["message"].get("tool_calls") or ()]
        tokens = (found.get("usage") or {}).get("completion_tokens")
        text = choice["message"].get("content") or ""
        return Answer(text, bool(choice["finish_reason"]), tokens, calls, {**choice["message"], "content": text})

    def stream(self, messages: list[JSON], timeout: float) -> Stream:
        body = {"messages": messages, "max_tokens": TOKENS, "stream": True}
        connection, answer = self._send(body, timeout)
        lines = (line[6:].strip() for line in iter(answer.readline, b"") if line.startswith(b"data: "))

        def close() -> None:
            answer.close()
            connection.close()

        return Stream(_follow((json.loads(line) for line in lines if line != b"[DONE]"), self._read), close)

    @staticmethod
    def _read(chunk: JSON) -> Piece:
        choice = chunk["choices"][0] if chunk["choices"] else {"delta": {}}
        tokens = (chunk.get("usage") or {}).get("completion_tokens")
        return Piece(choice["delta"].get("content") or "", bool(choice.get("finish_reason")), tokens)


class OpenAI:
    """openai; ``client``: an instance of its class, ``options``: of each stream."""

    def __init__(self, client: JSON, model: str, **options: JSON) -> None:
        self._client, self._model, self._options = client, model, options

    def _create(self, messages: list[JSON], timeout: float, **options: JSON) -> JSON:
        import openai

        create = self._client.chat.completions.create
        try:
            return create(model=self._model, messages=messages, max_tokens=TOKENS, timeout=timeout, **options)
        except openai.APIStatusError as error:
            headers = error.response.headers
            raise Failed(error.body or error, status=error.status_code, asked=_find_wait(headers)) from error
        except openai.APIConnectionError as error:
            raise Failed(error) from error

    def ask(self, messages: list[JSON], tools: list[JSON], timeout: float) -> Answer:
        return _read_answer(self._create(messages, timeout, **({"tools": tools} if tools else {})))

    def stream(self, messages: list[JSON], timeout: float) -> Stream:
        stream = self._create(messages, timeout, stream=True, **self._options)
        return Stream(_follow(stream, _read_chunk), stream.close)


@cache
def _open_openai() -> JSON:
    import openai

    return openai.OpenAI(base_url="http://localhost", api_key="none", max_retries=0)


def _make_openai(url: str, key: str) -> Client:
    client = _open_openai().copy(base_url=f"{url}/openai/v1/", api_key=key)
    return OpenAI(client, "gpt-4o", stream_options={"include_usage": True})


def _make_databricks(url: str, key: str) -> Client:
    from databricks.sdk import WorkspaceClient
    from databricks_openai import DatabricksOpenAI

    return OpenAI(DatabricksOpenAI(WorkspaceClient(host=url, token=key), max_retries=0), DATABRICKS)


class AzureInference:
    """azure-ai-inference."""

    def __init__(self, url: str, key: str) -> None:
        from azure.ai.inference import ChatCompletionsClient
        from azure.core.credentials import AzureKeyCredential

        self._client = ChatCompletionsClient(url, AzureKeyCredential(key), retry_total=0)

    def _complete(self, messages: list[JSON], timeout: float, **options: JSON) -> JSON:
        from azure.core.exceptions import AzureError, HttpResponseError

        try:
            return self._client.complete(messages=messages, max_tokens=TOKENS, read_timeout=timeout, **options)
        except HttpResponseError as error:
            if error.response is None:
                raise Failed(error) from error
            asked = _find_wait({name.lower(): value for name, value in error.response.headers.items()})
            raise Failed(error, status=error.status_code or 0, asked=asked) from error
        except AzureError as error:
            raise Failed(error) from error

    def ask(self, messages: list[JSON], tools: list[JSON], timeout: float) -> Answer:
        return _read_answer(self._complete(messages, timeout, **({"tools": tools} if tools else {})))

    def stream(self, messages: list[JSON], timeout: float) -> Stream:
        stream = self._complete(messages, timeout, stream=True)
        return Stream(_follow(stream, _read_chunk), stream.close)


class HuggingFace:
    """huggingface-hub."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def _complete(self, messages: list[JSON], timeout: float, **options: JSON) -> JSON:
        from huggingface_hub import InferenceClient
        from huggingface_hub.errors import HfHubHTTPError, InferenceTimeoutError

        client = InferenceClient(self._url, token=self._key, timeout=timeout)
        try:
            return client.chat_completion(messages, max_tokens=TOKENS, **options)
        except InferenceTimeoutError as error:
            raise Failed(error) from error
        except HfHubHTTPError as error:
            answer = error.response
            raise Failed(answer.text, status=answer.status_code, asked=_find_wait(answer.headers)) from error
        except OSError as error:
            raise Failed(error) from error

    def ask(self, messages: list[JSON], tools: list[JSON], timeout: float) -> Answer:
        return _read_answer(self._complete(messages, timeout, **({"tools": tools} if tools else {})))

    def stream(self, messages: list[JSON], timeout: float) -> Stream:
        stream = self._complete(messages, timeout, stream=True, stream_options={"include_usage": True})
        return Stream(_follow(stream, _read_chunk), stream.close)


SDKS: Mapping[str, Sdk] = {
    "http.client": Sdk("databricks", (), Plain),
    "openai": Sdk("azure", ("openai",), _make_openai),
    "azure-ai-inference": Sdk("azure", ("azure.ai.inference",), AzureInference),
    "databricks-openai": Sdk("databricks", ("databricks_openai", "databricks.sdk"), _make_databricks),
    "huggingface-hub": Sdk("tgi", ("huggingface_hub",), HuggingFace),
}
