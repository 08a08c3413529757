"""``emulator init``: write a first scenario, the schema for editors, and a test that passes at once."""

import sys
from pathlib import Path

from emulator.cli.schema import render_schema
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.settings import SettingsError

SCENARIO = """\
# yaml-language-server: $schema=./schema.json
version: 1
name: starter
description: The first attempt of each request is refused, and streams about rivers break.

latency: {ttft: 50ms, itl: 5ms}

rules:
  - name: rivers break off
    when: {prompt: {contains: rivers}, stream: true}
    faults: [{type: disconnect, after_tokens: 10}]

  - name: busy at first
    times: {first: 1, per: request}
    error: {kind: rate_limited, retry_after: 1s}
"""

TEST = '''\
"""Replace `ask` by your application: whatever it calls, point it at `emulator.url(vendor)`."""

import json
import urllib.error
import urllib.request

import pytest

MODEL = "databricks-meta-llama-3-3-70b-instruct"


def ask(url, question):
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}]}
    headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/serving-endpoints/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


@pytest.mark.emulator("scenarios/starter.yaml", clock="instant")
def test_the_first_attempt_is_refused_and_the_second_answered(emulator):
    url = emulator.url("databricks")
    with pytest.raises(urllib.error.HTTPError, match="429") as refused:
        ask(url, "What are tides?")
    refused.value.close()
    assert ask(url, "What are tides?")
    emulator.assert_called(times=2)
'''


def write_starter(folder: Path) -> int:
    """Write the files into a folder, and print their names and what to run next.

    Raises:
        SettingsError: a file exists, or cannot be written; nothing that exists is replaced.
    """
    files = {
        folder / "scenarios" / "starter.yaml": SCENARIO,
        folder / "scenarios" / "schema.json": render_schema(),
        folder / "test_emulator.py": TEST,
    }
    present = [path for path in files if path.exists()]
    if present:
        raise SettingsError(f"{present[0]} exists; init replaces no file, so name a new folder: emulator init FOLDER")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"cannot write {path}: {explain_file(error)}") from None
        print(escape(str(path)))
    inside = "" if folder == Path() else f"cd {folder}; "
    print(
        f"\nNext, {inside}run:\n"
        "  emulator serve scenarios/starter.yaml --open   # the console, in a browser\n"
        "  pytest test_emulator.py                        # needs pytest",
        file=sys.stderr,
    )
    return 0
