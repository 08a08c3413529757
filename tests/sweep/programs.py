"""Programs to sweep that run in this process: each makes its calls with nothing but the standard library."""

import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from emulator.core.json import JSON
from emulator.sweep.command import CommandResult

PATIENCE = 60.0  # real seconds without a byte; nothing takes so long that does not hang
PATH = "/serving-endpoints/databricks-claude-sonnet-4-5/invocations"
TOKENS = 24


class Failure(Exception):
    """The answer is an error, or no answer at all; ``status``: 0 if there is none."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(f"failed with {status}")
        self.status = status


@dataclass
class InProcess:
    """Runs a program in this process; what it raises is exit status 1, with its text on standard error."""

    program: Callable[[Mapping[str, str]], None]
    runs: int = 0

    def run(self, variables: Mapping[str, str], limit: float) -> CommandResult:
        self.runs += 1
        try:
            self.program(variables)
        except (Failure, OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            return CommandResult(1, "", f"{error!r}\n")
        return CommandResult(0)

    def end(self) -> None:
        """End nothing: a program ends by itself."""


def send(url: str, method: str, path: str, body: Mapping[str, JSON] | None = None) -> bytes:
    """Send a request; return the body of the answer."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    try:
        head = {"Authorization": "Bearer k", "api-key": "k", "Content-Type": "application/json"}
        connection.request(method, f"{place.path}{path}", json.dumps(body) if body else None, head)
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise Failure(answer.status)
    return data


def ask(variables: Mapping[str, str], *words: str, is_strict: bool) -> str:
    """Stream an answer to a conversation; ``is_strict``: one without an end is a failure."""
    messages: list[JSON] = [
        {"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(words)
    ]
    body: dict[str, JSON] = {"messages": messages, "max_tokens": TOKENS, "stream": True}
    data = send(variables["DATABRICKS_HOST"], "POST", PATH, body)
    events = [line[6:] for line in data.decode().splitlines() if line.startswith("data: ")]
    text, finish = "", None
    for event in events:
        if event == "[DONE]":
            break
        found = json.loads(event)
        if "error" in found or "error_code" in found:
            raise Failure(500)
        for choice in found["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice.get("finish_reason") or finish
    if is_strict and (finish is None or "[DONE]" not in events):
        raise Failure
    return text


def sound(variables: Mapping[str, str]) -> None:
    """Ask; try again, three times in all, what a new attempt may mend and of which nothing was delivered."""
    for left in (2, 1, 0):
        try:
            ask(variables, "What are tides?", is_strict=True)
        except Failure as error:
            if not left or error.status not in (408, 429, 503, 504):
                raise
        else:
            return


def credulous(variables: Mapping[str, str]) -> None:
    """Ask, and go on with the answer, whole or not."""
    answer = ask(variables, "What are tides?", is_strict=False)
    ask(variables, "What are tides?", answer or "Nothing.", "And why?", is_strict=False)


def stubborn(variables: Mapping[str, str]) -> None:
    """Ask up to four times, whatever went wrong."""
    for left in (3, 2, 1, 0):
        try:
            ask(variables, "What are tides?", is_strict=True)
        except (Failure, OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
            if not left:
                raise
        else:
            return


TOOLS: list[JSON] = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]


def agent(variables: Mapping[str, str]) -> None:
    """Ask with a tool, and bring its result."""
    messages: list[JSON] = [{"role": "user", "content": "Search for tides."}]
    answer = json.loads(send(variables["DATABRICKS_HOST"], "POST", PATH, {"messages": messages, "tools": TOOLS}))
    message = answer["choices"][0]["message"]
    (call,) = message["tool_calls"]
    json.loads(call["function"]["arguments"])
    messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": "High water."}]
    send(variables["DATABRICKS_HOST"], "POST", PATH, {"messages": messages, "tools": TOOLS, "max_tokens": 4})


def chain(variables: Mapping[str, str]) -> None:
    """Ask, go on from the answer by its id, and fetch that answer again; what fails then does not matter."""
    url = variables["AZURE_OPENAI_ENDPOINT"]
    body: dict[str, JSON] = {"model": "gpt-4o", "input": "What are tides?", "max_output_tokens": 16}
    first = json.loads(send(url, "POST", "/openai/v1/responses", body))
    body["previous_response_id"] = first["id"]
    send(url, "POST", "/openai/v1/responses", body)
    with suppress(Failure, OSError, http.client.HTTPException):
        send(url, "GET", f"/openai/v1/responses/{first['id']}")
