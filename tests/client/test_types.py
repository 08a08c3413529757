"""Types that a user's project checks: the lines of README and docs pass ``mypy --strict``, mistakes do not."""

import re
from pathlib import Path

import pytest
from mypy import api

from tests.tools.docs.blocks import ROOT, find_blocks

pytestmark = pytest.mark.slow

HEAD = """\
from typing import Any
from emulator.client import AsyncEmulatorClient, EmulatorClient
my_app: Any = None
"""
CONFIG = """\
[mypy]
strict = True
show_error_context = False
# functions of the examples have no annotations, and import an application of the reader's
allow_untyped_defs = True
allow_incomplete_defs = True
allow_untyped_calls = True
disable_error_code = import-not-found
# how strictly clients of vendors are typed is not ours to show
[mypy-openai.*,databricks.*,anthropic.*,azure.*,huggingface_hub.*]
follow_imports = skip
"""
HELPERS = """
def test_types(emulator: EmulatorClient) -> None:
    emulator.reply("Twice a day.", when={"prompt": {"contains": "tides"}, "turn": 2})
    emulator.refuse("rate_limited", times=2, retry_after="1s")
    emulator.fault("disconnect", after_tokens=5)
    emulator.outage(for_="30s")
    emulator.add_rule({"name": "mine", "faults": [{"type": "stall", "for": "2s"}], "times": {"first": 1}})
    call = emulator.last(status=200, rule=None)
    prompt: str | None = call.prompt
    role: str = call.messages[-1]["role"]
    name: str = call.response.tool_calls[0].arguments["city"]
    emulator.assert_called(times=1, prompt={"contains": "tides"}, where={"header.x-team": "search"})
    emulator.assert_not_called(status={"above": 399}, deployment=["a", "b*"])
    emulator.assert_order([{"prompt": "a"}, {"status": 200}])
    emulator.assert_no_unused_rules()
    print(prompt, role, name)

async def test_async(emulator: AsyncEmulatorClient) -> None:
    await emulator.assert_called(vendor="databricks", times=2)
    print((await emulator.last()).request.body["messages"][-1]["role"])
"""
WRONG = """
def test_wrong(emulator: EmulatorClient) -> None:
    emulator.assert_called(promt="tides")
    emulator.requests(statu=200)
    emulator.outage(30)
"""


JOINED = ("recipes.md",)  # pages whose blocks are one module


def list_documented() -> dict[str, str]:
    """Return all Python of README, docs and examples by module, with the types of fixtures that examples leave out."""
    texts: dict[str, list[str]] = {}
    for number, block in enumerate(find_blocks()):
        if block.language == "python":
            page = block.page.removesuffix(".md").lower()
            texts.setdefault(page if block.page in JOINED else f"{page}{number}", []).append(block.text)
    for file in (ROOT / "docs" / "examples").glob("*.py"):
        texts[file.stem] = [file.read_text(encoding="utf-8")]
    fixture = re.compile(r"def (\w+)\((self, )?(emulator|emulator_session)(\)|, )")
    typed = {name: fixture.sub(r"def \1(\2\3: EmulatorClient\4", "\n".join(text)) for name, text in texts.items()}
    return {name: text.replace("import my_app\n", "") for name, text in typed.items()}


@pytest.mark.covers("promises/clients", "types of a user's project")
def test_documented_lines_are_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    sources = {**list_documented(), "helpers": HELPERS, "wrong": WRONG}
    assert len(sources) > 4
    for name, text in sources.items():
        (tmp_path / f"{name}.py").write_text(HEAD + text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    options = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    told, errors, _ = api.run([*options, *(str(tmp_path / f"{name}.py") for name in sources)])
    assert not errors
    rows = [re.search(r"(\w+)\.py:\d+: error: (.*?)(?: for |;|$)", line) for line in told.splitlines()]
    assert [row.groups() for row in rows if row is not None and row[1] in sources] == [
        ("wrong", 'Unexpected keyword argument "promt"'),
        ("wrong", 'Unexpected keyword argument "statu"'),
        ("wrong", 'Argument 1 has incompatible type "int"'),
    ]
