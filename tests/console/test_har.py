"""HAR files between the emulator and a browser, in both directions."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator import start
from emulator.cli import main
from emulator.client import EmulatorClient

pytestmark = pytest.mark.slow
MODEL = "databricks-meta-llama-3-3-70b-instruct"
SECRET = "dapi0123456789abcdef0123456789abcdef"
PATH = "/serving-endpoints/chat/completions"
RULES = [{"name": "busy", "when": {"prompt": "Lakes?"}, "error": {"kind": "rate_limited", "message": "Later é."}}]
CALL = """async ([url, body, key]) => {
    const headers = {Authorization: `Bearer ${key}`, "Content-Type": "application/json"};
    const answer = await fetch(url, {method: "POST", body, headers});
    return [answer.status, answer.headers.get("content-type"), await answer.text()];
}"""
Seen = list[list[Any]]


def ask(page: Any, base: str) -> Seen:
    """What a page of the same origin makes of a whole answer, a stream and an error."""
    found = []
    for text, stream in (("Rivers?", False), ("Tides é?", True), ("Lakes?", False)):
        body = {"model": MODEL, "messages": [{"role": "user", "content": text}], "stream": stream, "max_tokens": 5}
        found.append(page.evaluate(CALL, [base + PATH, json.dumps(body, ensure_ascii=False), SECRET]))
    return found


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an empty page of an origin in a context of its own."""
    contexts: list[Any] = []

    def open_page(base: str, har: Path | None = None, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        if har is not None:
            context.route_from_har(har, not_found="abort")
        page = context.new_page()
        page.route("**/page", lambda route: route.fulfill(content_type="text/html", body="<title>page</title>"))
        page.goto(f"{base}/page")
        return page

    yield open_page
    for context in contexts:
        context.close()


def list_bases(emulator: EmulatorClient) -> dict[str, str]:
    front = f"{emulator.front}/databricks"
    session = f"{emulator.front}/_s/other/databricks"
    return {"own port": emulator.url("databricks"), "front": front, "session": session}


def check(seen: Seen) -> None:
    assert [row[:2] for row in seen] == [
        [200, "application/json"],
        [200, "text/event-stream; charset=utf-8"],
        [429, "application/json"],
    ]
    assert seen[1][2].endswith("data: [DONE]\n\n")
    assert "Later é." in seen[2][2]


def save_export(emulator: EmulatorClient, page: Any, har: Path) -> None:
    har.write_text(emulator.har(), encoding="utf-8")


def press_button(emulator: EmulatorClient, page: Any, har: Path) -> None:
    page.goto(f"{emulator.front}/_emulator#calls")
    with page.expect_download() as waiting:
        page.get_by_text("Save HAR").click()
    waiting.value.save_as(har)


@pytest.mark.parametrize(
    ("save", "place"), [(save_export, "own port"), (save_export, "session"), (press_button, "front")]
)
def test_browser_replays_what_the_emulator_exports(
    save: Callable[..., None], place: str, visit: Callable[..., Any], tmp_path: Path
) -> None:
    har = tmp_path / "calls.har"
    with start(rules=RULES) as emulator:
        bases = list_bases(emulator)
        page = visit(bases[place])
        seen = ask(page, bases[place])
        check(seen)
        save(emulator, page, har)
    assert SECRET not in har.read_text(encoding="utf-8")
    assert ask(visit(bases[place], har), bases[place]) == seen  # nothing listens there any more


@pytest.mark.parametrize(
    ("place", "options", "files"),
    [
        pytest.param("own port", {}, {"calls.har"}, id="own port"),
        pytest.param("front", {}, {"calls.har"}, id="front"),
        pytest.param("session", {"record_har_mode": "minimal"}, {"calls.har"}, id="session"),
        pytest.param("front", {"record_har_content": "attach"}, {"calls.har", "*.json"}, id="bodies in files"),
        pytest.param("front", {}, {"calls.har.zip"}, id="archive"),
    ],
)
def test_emulator_replays_what_a_browser_recorded(
    place: str, options: dict[str, str], files: set[str], visit: Callable[..., Any], tmp_path: Path
) -> None:
    har, calls = tmp_path / "har" / min(files, key=lambda name: "calls" not in name), tmp_path / "calls"
    with start(rules=RULES) as emulator:
        bases = list_bases(emulator)
        page = visit(bases[place], record_har_path=har, **options)
        seen = ask(page, bases[place])
        page.context.close()
    check(seen)
    assert {name for name in files if [*har.parent.glob(name)]} == files
    assert main(["import", str(har), "--to", str(calls)]) == 0
    assert SECRET not in "".join(file.read_text(encoding="utf-8") for file in calls.iterdir())
    with start(replay={"from": str(calls), "timing": "none"}) as emulator:
        base = list_bases(emulator)["own port" if place == "front" else "front"]
        assert ask(visit(base), base) == seen
