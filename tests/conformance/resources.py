"""The openai package's own tests of its resources against ``/openai/v1``: ``docs/openai.md``.

``python -m tests.conformance.resources FOLDER`` runs them and writes the page anew; FOLDER is the package's unpacked
source distribution, and the packages that its tests import are installed. They were written for a mock that takes
anything: a failure is listed on the page, with the service's answer and the reason why that is right.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from emulator import start

FILE = Path(__file__).parents[2] / "docs" / "openai.md"
COMMAND = "python -m tests.conformance.resources FOLDER"
SCENARIO = """
version: 1
deployments:
  - {vendor: azure, name: gpt-3.5-turbo-instruct, model: gpt-35-turbo-instruct, task: completions}
"""
RESOURCES = (
    "audio",
    "chat",
    "responses",
    "vector_stores",
    "test_completions.py",
    "test_responses.py",
    "test_embeddings.py",
    "test_models.py",
    "test_images.py",
    "test_vector_stores.py",
)
PASS = "pass"
UNEXPLAINED = "?"
_LONGEST = 900  # seconds

_WAY = re.compile(r"^test_(?:method|raw_response|streaming_response|path_params)_")
_REFUSED = re.compile(r"Error code: (\d+) - (.*)", re.DOTALL)
_REASONS: Mapping[str, str] = {
    r"with id '\S+' not found": "the id of the mock does not exist",
    r"No vector store found|No such File object|Expected an ID that begins with": "the id of the mock does not exist",
    r"Invalid language|Exactly one of": "the service refuses this value of the mock",
    r"Missing required parameter: 'input'": "the service refuses this value of the mock",
    r"Unsupported file format": "the file of the mock is no sound",
    r"Missing required parameter: 'model'": "the test sends no model, and Azure needs it to find the deployment",
    r"integer below minimum value": "the service refuses this value of the mock",
    r"integer out of range": "the service refuses this value of the mock",
    r"^400: (Unsupported|Unrecognized|Unknown|Setting)": "the test sends all parameters, and the model refuses some",
    r"deployment for this resource does not exist": "the model of the mock does not exist",
    r"405: Method Not Allowed": "not emulated, see docs/azure.md",
    r"404: Resource not found": "not emulated, see docs/azure.md",
    r"invalid for expected schema": "the strict client checks base64 against the schema before it decodes it",
}


@dataclass(frozen=True, slots=True, order=True)
class Outcome:
    """Outcome of the test of an operation; ``said``: :data:`PASS`, or else the error of the service or the client."""

    resource: str
    operation: str
    said: str

    @property
    def reason(self) -> str:
        if self.said == PASS:
            return ""
        return next((why for words, why in _REASONS.items() if re.search(words, self.said)), UNEXPLAINED)


def read_outcome(path: str, name: str, message: str | None) -> Outcome:
    """One test of pytest's report; ``path``: dotted, up to its class; ``message``: of what failed."""
    resource = path.removeprefix("tests.api_resources.").rpartition(".")[0].replace("test_", "")
    way = "path" if name.startswith("test_path_params") else ""
    operation = _WAY.sub("", name.partition("[")[0])
    streams = operation.endswith("_overload_2")
    operation = re.sub(r"_overload_[12]$", "", operation)
    every = operation.endswith("_with_all_params")
    words = [
        operation.removesuffix("_with_all_params").replace("_", " "),
        *(["with every parameter"] if every else []),
        *(["streamed"] if streams else []),
        *(["with an empty id"] if way else []),
    ]
    return Outcome(resource, ", ".join(words), _read_message(message))


def _read_message(message: str | None) -> str:
    if message is None:
        return PASS
    refused = _REFUSED.search(message)
    text = f"{refused[1]}: {refused[2]}" if refused else message.partition(": ")[2]
    return re.sub(r"'(?:resp_|completion_)\w+'", "'…'", text.splitlines()[0].strip())


def read_report(report: str) -> Counter[Outcome]:
    """How many tests ended how, of a report in JUnit's form."""
    found: Counter[Outcome] = Counter()
    for test in ElementTree.fromstring(report).iter("testcase"):
        failed = next((child for child in test if child.tag in ("failure", "error")), None)
        message = None if failed is None else failed.get("message", "")
        found[read_outcome(test.get("classname", ""), test.get("name", ""), message)] += 1
    return found


def render(found: Mapping[Outcome, int], package: str) -> str:
    """The page as Markdown."""
    passed = sum(count for outcome, count in found.items() if outcome.said == PASS)
    return (
        "# The openai package's own tests\n\n"
        "Look here to see how complete the emulator's `/openai/v1` (Azure OpenAI) is for the openai package. The\n"
        "package's source distribution has tests for every resource, written for a mock server that accepts any\n"
        "request. This page has their results against the emulator.\n\n"
        "Tested: audio, chat, completions, responses, embeddings, models, images and vector stores; blocking and\n"
        "asynchronous clients, strict and loose; the default models and `gpt-3.5-turbo-instruct`. "
        "*Tests* is the number of tests.\n\n"
        f"`{COMMAND}` writes this page; FOLDER is the unpacked source distribution.\n\n"
        "Most tests that do not pass send what a real service refuses too: `max_tokens: 0`, or ids that do not exist.\n"
        "Each row that is not a pass has the reason.\n\n"
        f"{package}: {passed} of {sum(found.values())} pass.\n\n"
        "| resource | operation | tests | outcome | reason |\n| --- | --- | --- | --- | --- |\n"
        + "".join(_list_rows(found))
    )


def _list_rows(found: Mapping[Outcome, int]) -> Iterable[str]:
    for outcome, count in sorted(found.items()):
        said = outcome.said.replace("|", "\\|")
        yield f"| {outcome.resource} | {outcome.operation} | {count} | {said} | {outcome.reason} |\n"


def run_tests(folder: Path) -> str:
    """The report of a run of them all, in JUnit's form."""
    with TemporaryDirectory() as place, start(SCENARIO) as client:
        report = Path(place) / "report.xml"
        tests = [f"tests/api_resources/{resource}" for resource in RESOURCES]
        options = ["-q", "-n", "0", "--tb=line", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={report}"]
        url = f"{client.url('azure', via='root')}/openai/v1"
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=folder,
            env={**os.environ, "TEST_API_BASE_URL": url},
            timeout=_LONGEST,
            check=False,
        )
        return report.read_text(encoding="utf-8")


if __name__ == "__main__":
    text = render(read_report(run_tests(Path(sys.argv[1]))), f"openai {version('openai')}")
    FILE.write_text(text, encoding="utf-8")
