"""What clients stored on a replica that is killed is there on the others."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.storage.servers import find_server, running
from tests.untyped_json import JSON
from tests.vendors.forms import HEADERS, make_form

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_server("redis") is None, reason="redis-server is not installed"),
]
SCENARIO = "version: 1\nname: kept\nvendors: {azure: {batch_seconds: 0}}\n"
HELLO: JSON = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}


class Replica:
    """Emulator in a process of its own, with its Azure port."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        rows = (json.loads(line) for line in process.stderr)
        self._port = next(urlsplit(row["urls"]["azure"]).port for row in rows if "urls" in row)

    def ask(self, path: str, body: JSON | bytes = None, method: str = "", **headers: str) -> JSON:
        """Return the JSON of an answer, or its bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json", "api-key": "k", **headers}
        connection.request(method or ("GET" if body is None else "POST"), f"/openai/v1{path}", data, kind)
        answer = connection.getresponse()
        found = answer.read()
        connection.close()
        assert answer.status == 200, found
        return json.loads(found) if answer.headers.get_content_type() == "application/json" else found

    def upload(self, name: str, content: bytes, purpose: str) -> str:
        form = make_form(("purpose", purpose), ("file", (name, content)))
        return str(self.ask("/files", form, **HEADERS)["id"])


@contextmanager
def replica(url: str, scenario: Path) -> Iterator[Replica]:
    command = [sys.executable, "-m", "emulator", "serve", str(scenario), "--port", "0", "--log-format", "json"]
    process = subprocess.Popen([*command, "--state-url", url], stderr=subprocess.PIPE, text=True)
    try:
        yield Replica(process)
    finally:
        process.kill()
        process.communicate()


def test_stored_state_survives_killed_replica(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    with running("redis", tmp_path) as url, replica(url, scenario) as one, replica(url, scenario) as other:
        conversation = one.ask("/conversations", {"metadata": {"a": "b"}})["id"]
        said = one.ask("/responses", {"model": "gpt-4o", "input": "Hello", "conversation": conversation})
        line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": HELLO}
        file = one.upload("in.jsonl", json.dumps(line).encode(), "batch")
        fields = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = one.ask("/batches", fields)["id"]
        text = one.upload("pets.txt", b"Cats sleep. Dogs bark at night.", "assistants")
        store = one.ask("/vector_stores", {"file_ids": [text]})["id"]
        one.process.kill()  # SIGKILL: nothing is written at the end
        one.process.wait()

        assert other.ask(f"/conversations/{conversation}")["metadata"] == {"a": "b"}
        items = other.ask(f"/conversations/{conversation}/items?order=asc")["data"]
        assert [item["id"] for item in items][-1] == said["output"][-1]["id"]
        assert other.ask(f"/responses/{said['id']}")["output"] == said["output"]
        done = other.ask(f"/batches/{batch}")
        assert (done["status"], done["request_counts"]["completed"]) == ("completed", 1)
        output = other.ask(f"/files/{done['output_file_id']}/content")
        assert json.loads(output)["custom_id"] == "a"
        assert other.ask(f"/files/{text}/content") == b"Cats sleep. Dogs bark at night."
        (hit,) = other.ask(f"/vector_stores/{store}/search", {"query": "dogs"})["data"]
        assert hit["filename"] == "pets.txt"
        tool = {"type": "file_search", "vector_store_ids": [store]}
        asked = other.ask("/responses", {"model": "gpt-4o", "input": "When do dogs bark?", "tools": [tool]})
        assert asked["output"][-1]["content"][0]["text"] == "Dogs bark at night."
        with replica(url, scenario) as third:  # a new one in place of the killed
            assert third.ask(f"/vector_stores/{store}")["file_counts"]["completed"] == 1
